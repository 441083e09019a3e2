package e2e

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/suite"
	"gpujoin/tests/synthetic"
	"gpujoin/tests/tpch"
)

// keptTPCH are the queries of TPC-H that run if none are named: those of one table, and joins.
const keptTPCH = "1 6 3 4 5 9 10 12 14 18"

// keptQueries returns what is measured.
func (w *world) keptQueries() (list []query, err error) {
	add := func(name, sql string) { list = append(list, query{name: name, sql: sql}) }
	rows := w.rows
	for _, times := range []int{4, 1} {
		name := count(times*rows) + " x " + count(rows)
		list = append(list, query{name: name, sql: sums(fmt.Sprintf("fact%d", times)) + " on f.k = d.k", inputs: (times + 1) * rows})
	}
	add("group "+count(4*rows), "select v, count(*), sum(k % 1000) from fact4 group by v")
	add("join and group "+count(rows), "select f.v, count(*), sum(d.v) from fact1 f join dimension d on f.k = d.k where d.v < 500 group by f.v")
	chosen := w.queries
	if chosen == "" {
		chosen = keptTPCH
	}
	numbers, err := suite.Numbers(chosen, tpch.Queries)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		sql, err := tpch.Query(n, w.sf)
		if err != nil {
			return nil, err
		}
		add(fmt.Sprintf("TPC-H %d", n), sql)
	}
	return list, nil
}

// loaders is how many sessions load data.
func loaders() int { return max(2, min(16, runtime.NumCPU())) }

// fillKept makes all tables, each from several sessions, and vacuums them, so that their pages
// are all-visible. Of indexes, TPC-H's tables have their primary keys: a query that groups by one
// groups by no other column of its table.
func (w *world) fillKept(ctx context.Context) error {
	native, parts := w.modes[0].session, loaders()
	begin := time.Now()
	if err := native.Exec(ctx, tpch.Schema+`;
		create table dimension (k int8 not null, v int8 not null);
		create table fact1 (k int8 not null, v int8 not null);
		create table fact4 (k int8 not null, v int8 not null)`); err != nil {
		return err
	}
	work := append(w.generated(tpch.Tables...), w.dimension()...)
	for _, times := range []int{4, 1} {
		work = append(work, filled(fmt.Sprintf("fact%d", times), w.factColumns(), times*w.rows, "")...)
	}
	say("loading TPC-H at scale factor %g and %d rows with %d sessions", w.sf, 6*w.rows, parts)
	here := place{cluster: w.cluster}
	if err := here.parallel(ctx, work); err != nil {
		return err
	}
	say("loaded after %.0f s; adding primary keys", time.Since(begin).Seconds())
	if err := here.parallel(ctx, tpch.PrimaryKeys()); err != nil {
		return err
	}
	say("primary keys after %.0f s; vacuuming", time.Since(begin).Seconds())
	err := here.parallel(ctx, vacuum(append([]string{"fact4", "fact1", "dimension"}, tpch.Tables...)))
	say("vacuumed after %.0f s", time.Since(begin).Seconds())
	return err
}

// filled returns statements that fill a table from expressions over i, the row's number.
func filled(table, columns string, rows int, order string) (work []string) {
	parts := loaders()
	for part := range parts {
		work = append(work, fmt.Sprintf("insert into %s select %s from generate_series(%d::int8, %d) i%s",
			table, columns, rows*part/parts+1, rows*(part+1)/parts, order))
	}
	return work
}

func (w *world) dimension() []string {
	d := synthetic.Dimension("dimension", 1, w.rows)
	return filled(d.Name, d.Values[0]+", "+d.Values[1], w.rows, " order by hashint8extended(i, 99)")
}

func (w *world) factColumns() string {
	return synthetic.Foreign(2, w.rows) + ", " + synthetic.Number(3, 1000)
}

func vacuum(tables []string) (work []string) {
	for _, table := range tables {
		work = append(work, "vacuum (analyze) "+table)
	}
	return work
}

// generated returns statements that load tables of TPC-H from its generator, which the
// server starts; large tables in parts, the largest first.
func (w *world) generated(tables ...string) (work []string) {
	// Each run of the generator takes a second before its first row.
	most := min(loaders(), max(2, int(4*w.sf)))
	for _, t := range []struct {
		table string
		parts int
	}{{"lineitem", most}, {"orders", most / 2}, {"partsupp", max(1, most/4)}, {"customer", 1}, {"part", 1}, {"supplier", 1}, {"nation", 1}, {"region", 1}} {
		for part := range t.parts {
			if slices.Contains(tables, t.table) {
				work = append(work, w.generatedPart(t.table, t.parts, part+1))
			}
		}
	}
	return work
}

// generatedPart returns a statement that loads a part of a table of TPC-H.
func (w *world) generatedPart(table string, parts, part int) string {
	program := fmt.Sprintf("%s csv --quiet --stdout -s %s -T %s", w.env.Generator, strconv.FormatFloat(w.sf, 'f', -1, 64), table)
	if parts > 1 {
		program += fmt.Sprintf(" --parts %d --part %d", parts, part)
	}
	return fmt.Sprintf("copy %s from program '%s' (format csv, header)", table, program)
}

// place is where statements that load or change tables are executed.
type place struct {
	cluster *harness.Cluster
	first   string // what each session executes at first
}

// parallel executes statements with several sessions.
func (p place) parallel(ctx context.Context, statements []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan string, len(statements))
	for _, s := range statements {
		next <- s
	}
	close(next)
	var all sync.WaitGroup
	for range min(loaders(), len(statements)) {
		all.Go(func() {
			if err := p.each(ctx, next); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// each executes statements with one session, natively.
func (p place) each(ctx context.Context, statements <-chan string) error {
	s, err := p.cluster.ConnectWith(ctx, "gpujoin.socket", p.cluster.DaemonSocket())
	if err != nil {
		return err
	}
	defer s.Close()
	// VACUUM calls no row visible to all whose commit is not on disk.
	if err := s.Exec(ctx, suite.Native+"; set synchronous_commit = on; "+p.first); err != nil {
		return err
	}
	for sql := range statements {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}
