package load

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gpujoin/tests/harness"
	"gpujoin/tests/synthetic"
)

// Rows of the tables of the short transaction, TPC-B's for each branch.
const (
	branches = 24
	tellers  = 10 * branches
	accounts = 5000 * branches
)

// shortShare is the percentage of short transactions among the statements.
const shortShare = 40

// joins are the other statements, in equal parts. They differ in the costs to
// feed, join and return a row.
var joins = []struct{ name, sql string }{
	{"join, two sums", "select sum(f.v), sum(d.v) from fact f join dim d on f.k = d.k"},
	{"join, texts", "select max(f.note), max(d.note) from noted f join labels d on f.k = d.k"},
	{"join, all rows", "select count(*) from (select f.k, f.v, d.v from fact f join dim d on f.k = d.k offset 0) j"},
}

const short = "short transaction"

// fill makes all tables.
func (b *bench) fill(ctx context.Context, s *harness.Session) error {
	fmt.Printf("  filling tables of %d rows\n", b.rows)
	if err := s.Exec(ctx, "create extension gpujoin"); err != nil {
		return err
	}
	for _, t := range []synthetic.Table{
		{Name: "fact", Rows: b.rows, Columns: []string{"k", "v"}, Values: []string{synthetic.Foreign(1, b.rows), synthetic.Number(2, 1000)}},
		synthetic.Dimension("dim", 3, b.rows),
	} {
		if err := t.Fill(ctx, s); err != nil {
			return err
		}
	}
	if err := s.Exec(ctx, fmt.Sprintf(`
		create table noted as select (i * 7919) %% %[1]d as k, 'a note of the row ' || i as note from generate_series(1::int8, %[1]d) i;
		create table labels as select i as k, 'label ' || i as note from generate_series(0::int8, %[1]d - 1) i;
		create table branches as select i as id, 0::int8 as balance from generate_series(1, %[2]d) i;
		create table tellers as select i as id, 0::int8 as balance from generate_series(1, %[3]d) i;
		create table accounts as select i as id, 0::int8 as balance, repeat(' ', 84) as filler from generate_series(1, %[4]d) i;
		create table history (teller int, branch int, account int, delta int, at timestamp);
		alter table branches add primary key (id);
		alter table tellers add primary key (id);
		alter table accounts add primary key (id)`,
		b.rows, branches, tellers, accounts)); err != nil {
		return err
	}
	return s.Exec(ctx, "vacuum analyze")
}

// shortTransaction returns TPC-B's transaction as one round trip.
func shortTransaction(r *rand.Rand) string {
	account, teller, branch, delta := 1+r.IntN(accounts), 1+r.IntN(tellers), 1+r.IntN(branches), r.IntN(10001)-5000
	return fmt.Sprintf(`begin;
		update accounts set balance = balance + %[1]d where id = %[2]d;
		select balance from accounts where id = %[2]d;
		update tellers set balance = balance + %[1]d where id = %[3]d;
		update branches set balance = balance + %[1]d where id = %[4]d;
		insert into history values (%[3]d, %[4]d, %[2]d, %[1]d, now());
		commit`, delta, account, teller, branch)
}
