package main

import (
	"fmt"
	"strings"

	"gpujoin/tests/tpch"
)

// A table's keys are hashes of the row number: random, and the same in every
// run.
func key(seed, below int) string {
	return fmt.Sprintf("(hashint8extended(i, %d) & 9223372036854775807) %% %d", seed, below)
}

// lineitemSF is the scale factor of the lineitem table for the feed rates.
const lineitemSF = 0.2

// oneRow matches nothing: a job's input that costs nothing, beside one whose
// feed is measured.
const oneRow = "create table one as select -1::int8 as a"

// fill makes the tables of all measurements.
func (b *bench) fill() error {
	small, middle, large := 1000, b.rows/10, b.rows
	tables := []struct {
		what, columns, query string
		rows                 int
	}{
		{"fact", "k1k, k1m, k10m, v", strings.Join([]string{key(1, small), key(2, middle), key(3, large), key(4, 1000)}, ", "), large},
		{"star", "a, b, c, v", strings.Join([]string{key(5, middle), key(6, middle), key(7, middle), key(8, 1000)}, ", "), large},
		{"d1k", "k, v", "i - 1, " + key(9, 1000), small},
		{"d1m", "k, v", "i - 1, " + key(10, 1000), middle},
		{"d10m", "k, v", "i - 1, " + key(11, 1000), large},
		{"da", "k, v", "i - 1, " + key(12, 1000), middle},
		{"db", "k, v", "i - 1, " + key(13, 1000), middle},
		{"dc", "k, v", "i - 1, " + key(14, 1000), middle},
	}
	for _, t := range tables {
		say("filling %s with %d rows", t.what, t.rows)
		columns := strings.ReplaceAll(t.columns, ",", " int8 not null,") + " int8 not null"
		// Dimensions lie in no order that a join could profit from.
		order := ""
		if t.columns == "k, v" {
			order = " order by hashint8extended(i, 99)"
		}
		err := b.session.Exec(b.ctx, fmt.Sprintf(
			"set work_mem = '1GB'; begin; create table %s (%s); insert into %s select %s from generate_series(1::int8, %d) i%s; commit; reset work_mem",
			t.what, columns, t.what, t.query, t.rows, order))
		if err != nil {
			return fmt.Errorf("filling %s: %w", t.what, err)
		}
	}
	if err := b.fillFeeds(); err != nil {
		return err
	}
	say("loading TPC-H at scale factor %g", lineitemSF)
	if err := tpch.Load(b.ctx, b.env, b.session, lineitemSF, func(string) {}); err != nil {
		return err
	}
	// tpch.Load vacuumed everything; this table comes after it.
	say("filling feed_fresh with %d rows", b.feedRows())
	return b.session.Exec(b.ctx, fmt.Sprintf(
		"create table feed_fresh as select * from fact limit %d; analyze feed_fresh; select count(*) from feed_fresh", b.feedRows()))
}

func (b *bench) feedRows() int { return b.rows / 5 }

// fillFeeds makes the tables whose feeding alone is measured.
func (b *bench) fillFeeds() error {
	say("filling feed_nulls, feed_text with %d rows", b.feedRows())
	nullable := func(seed int) string {
		return fmt.Sprintf("nullif(%s, 0)", key(seed, 10)) // one in ten
	}
	return b.session.Exec(b.ctx, fmt.Sprintf(`
		create table feed_nulls as select i as a, %s as b, %s as c, %s as d from generate_series(1::int8, %d) i;
		create table feed_text as select i as a, md5(i::text) as b, repeat('x', (i %% 20)::int) as c from generate_series(1::int8, %d) i;
		%s`, nullable(21), nullable(22), nullable(23), b.feedRows(), b.feedRows(), oneRow))
}
