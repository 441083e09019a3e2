package main

import (
	"fmt"
	"strings"

	"gpujoin/tests/tpch"
)

// number is a random number for row i, the same in every run.
func number(seed, below int) string {
	return fmt.Sprintf("(hashint8extended(i, %d) & 9223372036854775807) %% %d", seed, below)
}

// key is the key of dimension row i: any int8.
const key = "hashint8extended(%s, 4711)"

// foreign is the key of a random row of a dimension with so many rows.
func foreign(seed, rows int) string {
	return fmt.Sprintf(key, number(seed, rows))
}

func dimension(seed int) string {
	return fmt.Sprintf(key, "i - 1") + ", " + number(seed, 1000)
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
		{"fact", "k1k, k1m, k10m, v", strings.Join([]string{foreign(1, small), foreign(2, middle), foreign(3, large), number(4, 1000)}, ", "), large},
		{"star", "a, b, c, v", strings.Join([]string{foreign(5, middle), foreign(6, middle), foreign(7, middle), number(8, 1000)}, ", "), large},
		{"d1k", "k, v", dimension(9), small},
		{"d1m", "k, v", dimension(10), middle},
		{"d10m", "k, v", dimension(11), large},
		{"da", "k, v", dimension(12), middle},
		{"db", "k, v", dimension(13), middle},
		{"dc", "k, v", dimension(14), middle},
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
		return fmt.Sprintf("nullif(%s, 0)", number(seed, 10)) // one in ten
	}
	return b.session.Exec(b.ctx, fmt.Sprintf(`
		create table feed_nulls as select i as a, %s as b, %s as c, %s as d from generate_series(1::int8, %d) i;
		create table feed_text as select i as a, md5(i::text) as b, repeat('x', (i %% 20)::int) as c from generate_series(1::int8, %d) i;
		%s`, nullable(21), nullable(22), nullable(23), b.feedRows(), b.feedRows(), oneRow))
}
