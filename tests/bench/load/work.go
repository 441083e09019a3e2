package load

import (
	"context"
	"fmt"

	"gpujoin/tests/harness"
	"gpujoin/tests/synthetic"
)

// bank has the tables of the short transaction.
var bank = synthetic.Bank{Branches: 24, Accounts: 5000}

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
		%[2]s`,
		b.rows, bank.SQL())); err != nil {
		return err
	}
	return s.Exec(ctx, "vacuum analyze")
}
