package join

import (
	"fmt"

	"gpujoin/tests/synthetic"
	"gpujoin/tests/tpch"
)

// lineitemSF is the scale factor of the lineitem table for the feed rates.
const lineitemSF = 0.2

// oneRow matches nothing: a cheap second input for jobs that measure the feed of the
// other one.
const oneRow = "create table one as select -1::int8 as a"

// fill makes the tables of all measurements.
func (b *bench) fill() error {
	small, middle, large := 1000, b.rows/10, b.rows
	v := synthetic.Number
	k := synthetic.Foreign
	tables := []synthetic.Table{
		{Name: "fact", Rows: large, Columns: []string{"k1k", "k1m", "k10m", "v"}, Values: []string{k(1, small), k(2, middle), k(3, large), v(4, 1000)}},
		{Name: "star", Rows: large, Columns: []string{"a", "b", "c", "v"}, Values: []string{k(5, middle), k(6, middle), k(7, middle), v(8, 1000)}},
		synthetic.Dimension("d1k", 9, small),
		synthetic.Dimension("d1m", 10, middle),
		synthetic.Dimension("d10m", 11, large),
		synthetic.Dimension("da", 12, middle),
		synthetic.Dimension("db", 13, middle),
		synthetic.Dimension("dc", 14, middle),
	}
	for _, t := range tables {
		say("filling %s with %d rows", t.Name, t.Rows)
		if err := t.Fill(b.ctx, b.session); err != nil {
			return err
		}
	}
	if err := b.fillFeeds(); err != nil {
		return err
	}
	say("loading TPC-H at scale factor %g", lineitemSF)
	if err := tpch.Load(b.ctx, b.env, b.session, lineitemSF, func(string) {}); err != nil {
		return err
	}
	// tpch.Load vacuums everything; this table must stay unvacuumed.
	say("filling feed_fresh with %d rows", b.feedRows())
	return b.session.Exec(b.ctx, fmt.Sprintf(
		"create table feed_fresh as select * from fact limit %d; analyze feed_fresh; select count(*) from feed_fresh", b.feedRows()))
}

func (b *bench) feedRows() int { return b.rows / 5 }

// fillFeeds makes the tables for the measurement of feeding alone.
func (b *bench) fillFeeds() error {
	say("filling feed_nulls, feed_text with %d rows", b.feedRows())
	nullable := func(seed int) string {
		return fmt.Sprintf("nullif(%s, 0)", synthetic.Number(seed, 10)) // one in ten
	}
	return b.session.Exec(b.ctx, fmt.Sprintf(`
		create table feed_nulls as select i as a, %s as b, %s as c, %s as d from generate_series(1::int8, %d) i;
		create table feed_text as select i as a, md5(i::text) as b, repeat('x', (i %% 20)::int) as c from generate_series(1::int8, %d) i;
		%s`, nullable(21), nullable(22), nullable(23), b.feedRows(), b.feedRows(), oneRow))
}
