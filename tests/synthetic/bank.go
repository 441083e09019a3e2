package synthetic

import (
	"fmt"
	"math/rand/v2"
)

// Bank is the tables of TPC-B, whose short transactions change one row of each of three
// tables and add one to a fourth.
type Bank struct {
	Branches int
	Accounts int // of each branch
}

const tellersOfBranch = 10

// SQL returns the statements that make the tables.
func (b Bank) SQL() string {
	return fmt.Sprintf(`
		create table branches as select i as id, 0::int8 as balance from generate_series(1, %[1]d) i;
		create table tellers as select i as id, 0::int8 as balance from generate_series(1, %[2]d) i;
		create table accounts as select i as id, 0::int8 as balance, repeat(' ', 84) as filler from generate_series(1, %[3]d) i;
		create table history (teller int, branch int, account int, delta int, at timestamp);
		alter table branches add primary key (id);
		alter table tellers add primary key (id);
		alter table accounts add primary key (id);`,
		b.Branches, tellersOfBranch*b.Branches, b.Accounts*b.Branches)
}

// Transaction returns a transaction with random rows as one round trip.
func (b Bank) Transaction(r *rand.Rand) string {
	account, teller, branch := 1+r.IntN(b.Accounts*b.Branches), 1+r.IntN(tellersOfBranch*b.Branches), 1+r.IntN(b.Branches)
	return fmt.Sprintf(`begin;
		update accounts set balance = balance + %[1]d where id = %[2]d;
		select balance from accounts where id = %[2]d;
		update tellers set balance = balance + %[1]d where id = %[3]d;
		update branches set balance = balance + %[1]d where id = %[4]d;
		insert into history values (%[3]d, %[4]d, %[2]d, %[1]d, now());
		commit`, r.IntN(10001)-5000, account, teller, branch)
}
