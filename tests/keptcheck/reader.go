package keptcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gpujoin/tests/harness"
)

// reader runs queries natively and kept under one snapshot.
type reader struct {
	*client
	queries
	campaign *campaign
}

const (
	native   = "set local gpujoin.enabled = off; set local max_parallel_workers_per_gather = 0; "
	explains = "set local auto_explain.log_min_duration = 0; set local auto_explain.log_analyze = on; set local auto_explain.log_timing = off; " +
		"set local auto_explain.log_format = json; set local auto_explain.log_level = notice; set local auto_explain.log_nested_statements = on; "
	silent = "set local auto_explain.log_min_duration = -1; "
	// session makes all plans scans and hash joins: PostgreSQL expects very few rows of some
	// joins, and its nested loops over them would take minutes.
	session = "set enable_nestloop = off; set gpujoin.keep = always; set gpujoin.min_rows = 0; set gpujoin.debug_force = on"
)

// forced returns the settings of a kept run.
func (r *reader) forced() string {
	sql := fmt.Sprintf("set local gpujoin.enabled = on; set local max_parallel_workers_per_gather = %d; set local parallel_leader_participation = %t; ",
		one(r.client.Rand, 0, 0, 0, 1, 2), r.client.IntN(4) > 0)
	if r.w.plans {
		sql += explains
	}
	return sql
}

// A pair is a query that ran natively and kept.
type pair struct {
	kind   string // of transaction
	sql    string
	native *harness.Result
	kept   *harness.Result
	err    error // of the kept run
	plan   plan
	before int64  // world.disturbed
	after  string // what further runs under the same snapshot returned, if the two differ
}

// run runs transactions until the run is over.
func (r *reader) run(ctx context.Context) error {
	for ctx.Err() == nil {
		fresh := r.s == nil || r.s.Conn().IsClosed()
		if err := r.open(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if fresh {
			if err := r.exec(session); err != nil {
				continue // the server has ended again
			}
		}
		err := r.transaction(ctx)
		if errors.Is(err, errHang) {
			return err
		}
		if err != nil {
			r.campaign.skip(err)
		}
		if !r.s.Conn().IsClosed() && r.s.Conn().TxStatus() != 'I' {
			if end := r.exec("rollback"); errors.Is(end, errHang) {
				return end
			}
		}
	}
	return nil
}

// transaction runs one transaction of a random kind. Its error is that of a statement that
// is not part of a pair, or of a native run, so it shows nothing.
func (r *reader) transaction(ctx context.Context) error {
	switch r.client.IntN(16) {
	case 0, 1:
		return r.readCommitted()
	case 2:
		return r.functions()
	case 3:
		return r.old(ctx)
	case 4, 5:
		return r.cursor()
	case 6, 7:
		return r.ownWrites()
	case 8:
		return r.several("serializable", "begin isolation level serializable", 3)
	case 9:
		return r.imported(ctx)
	default:
		return r.several("repeatable read", "begin isolation level repeatable read", 5)
	}
}

// several compares several queries in a transaction that has one snapshot.
func (r *reader) several(kind, begin string, n int) error {
	if err := r.exec(begin); err != nil {
		return err
	}
	for range 1 + r.client.IntN(n) {
		if err := r.compare(kind, r.draw()); err != nil {
			return err
		}
	}
	return r.exec("commit")
}

// readCommitted keeps writers away, since each statement has a snapshot of its own.
func (r *reader) readCommitted() error {
	q := r.draw()
	if err := r.exec("begin; lock table " + strings.Join(q.tables, ", ") + " in share mode"); err != nil {
		return err
	}
	if err := r.compare("read committed", q); err != nil {
		return err
	}
	return r.exec("commit")
}

// functions runs both in functions that see the snapshot of one statement.
func (r *reader) functions() error {
	q := r.draw()
	p := pair{kind: "functions", sql: q.sql, before: r.w.disturbed.Load()}
	settings := "set local plan_cache_mode = force_custom_plan; "
	if r.w.plans {
		settings += explains
	}
	if err := r.exec("begin"); err != nil {
		return err
	}
	if err := r.explain(&p, settings+r.forced()); err != nil {
		return err
	}
	got, err := r.query(settings + fmt.Sprintf("select native_rows($query$%s$query$), kept_rows($query$%s$query$)", q.sql, q.sql))
	if err != nil {
		return err // of either run: what fails in one of them is found by the other kinds
	}
	if r.w.plans {
		p.plan = plansOf(r.s.Notices())
	}
	texts := strings.SplitN(got.Rows[0], "\t", 2)
	p.native, p.kept = &harness.Result{Rows: texts[:1]}, &harness.Result{Rows: texts[1:]}
	r.campaign.add(&p)
	return r.exec("commit")
}

// old reads what has been changed since its snapshot.
func (r *reader) old(ctx context.Context) error {
	if err := r.exec("begin isolation level repeatable read; select count(*) from pg_class"); err != nil {
		return err
	}
	for range 3 {
		r.pause(ctx, time.Second)
		for range 3 {
			if err := r.compare("old snapshot", r.draw()); err != nil {
				return err
			}
		}
	}
	return r.exec("commit")
}

// ownWrites reads what the transaction itself has written, some of it in subtransactions.
func (r *reader) ownWrites() error {
	w := &writer{client: r.client}
	if err := r.exec("begin isolation level " + one(r.client.Rand, "repeatable read", "repeatable read", "serializable")); err != nil {
		return err
	}
	for range 2 {
		t := w.target()
		for _, sql := range []string{w.change(t), "savepoint a", w.change(t), one(r.client.Rand, "rollback to a", "release a"), w.change(w.target())} {
			if err := r.exec(sql); err != nil {
				return err
			}
		}
		for range 2 {
			if err := r.compare("own writes", r.draw()); err != nil {
				return err
			}
		}
	}
	return r.exec(one(r.client.Rand, "commit", "commit", "rollback"))
}

// cursor declares a cursor, writes to the tables that it reads, and then reads its rows.
func (r *reader) cursor() error {
	q := r.draw()
	p := pair{kind: "cursor", sql: q.sql, before: r.w.disturbed.Load()}
	if err := r.exec("begin isolation level repeatable read"); err != nil {
		return err
	}
	var err error
	if p.native, err = r.query(silently(r.w) + native + q.sql); err != nil {
		return err
	}
	if err := r.explain(&p, r.forced()); err != nil {
		return err
	}
	if p.err = r.exec(r.forced() + "declare c cursor for " + q.sql); p.err == nil {
		p.kept, p.err = r.query(fmt.Sprintf("fetch %d c", r.client.IntN(3)))
	}
	if p.err == nil {
		w := &writer{client: r.client}
		if err := r.exec(silently(r.w) + w.change(w.target())); err != nil {
			return err
		}
		var rest *harness.Result
		if rest, p.err = r.query("fetch all c"); p.err == nil {
			p.kept.Rows = append(p.kept.Rows, rest.Rows...)
			// auto_explain logs the plan at the end, as the last statement says.
			if err := r.exec(r.forced() + "select 1; close c"); err != nil {
				return err
			}
		}
	}
	if r.w.plans {
		p.plan = plansOf(r.s.Notices())
	}
	r.campaign.add(&p)
	return r.exec(one(r.client.Rand, "commit", "rollback"))
}

// imported runs the native query in one session and the kept one in another, with one snapshot.
func (r *reader) imported(ctx context.Context) error {
	other := &client{Rand: r.client.Rand, w: r.w, name: r.name + ", exporting"}
	if err := other.open(ctx); err != nil {
		return err
	}
	defer other.close()
	name, err := other.query(session + "; begin isolation level repeatable read; select pg_export_snapshot()")
	if err != nil {
		return err
	}
	if err := r.exec("begin isolation level repeatable read; set transaction snapshot '" + name.Rows[0] + "'"); err != nil {
		return err
	}
	for range 3 {
		p := pair{kind: "imported snapshot", before: r.w.disturbed.Load()}
		p.sql = r.draw().sql
		if p.native, err = other.query(native + p.sql); err != nil {
			return err
		}
		if r.keptRun(&p); p.err != nil {
			r.campaign.add(&p)
			return p.err
		}
		r.campaign.add(&p)
		r.pause(ctx, 100*time.Millisecond)
	}
	return errors.Join(other.exec("commit"), r.exec("commit"))
}

// compare runs a query in both ways in the open transaction.
func (r *reader) compare(kind string, q query) error {
	p := pair{kind: kind, sql: q.sql, before: r.w.disturbed.Load()}
	var err error
	if p.native, err = r.query(silently(r.w) + native + q.sql); err != nil {
		return err
	}
	r.keptRun(&p)
	if p.err == nil && harness.SameRows(p.native, p.kept) != "" {
		p.after = r.again(&p)
	}
	r.campaign.add(&p)
	return p.err
}

// keptRun runs the query of a pair kept.
func (r *reader) keptRun(p *pair) {
	settings := r.forced()
	if p.err = r.explain(p, settings); p.err != nil {
		return
	}
	if p.kept, p.err = r.query(settings + p.sql); p.err == nil && r.w.plans {
		p.plan = plansOf(r.s.Notices())
	}
}

// explain prepares for the kept run of a pair. Without auto_explain it gets the plan from a
// run of its own, before: the pair's run has at least as many kept blocks.
func (r *reader) explain(p *pair, settings string) error {
	_ = r.s.Notices() // those of earlier queries
	if r.w.plans {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.exec(settings); err != nil {
		return err
	}
	node, err := r.s.Explain(ctx, "analyze, timing off", p.sql)
	switch {
	case err == nil:
		p.plan.add(node)
	case ctx.Err() != nil:
		return fmt.Errorf("%w for %v: %s: explain %s", errHang, patience, r.name, p.sql)
	case r.s.Conn().IsClosed() && harness.SQLState(err) == "":
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

func silently(w *world) string {
	if w.plans {
		return silent
	}
	return ""
}

// again tells causes of a difference apart, by further runs under the same snapshot.
func (r *reader) again(p *pair) string {
	var text strings.Builder
	for _, way := range []struct{ name, settings string }{
		{"native", native}, {"kept", r.forced()}, {"fed", r.forced() + "set local gpujoin.keep = off; "},
	} {
		result, err := r.query(way.settings + p.sql)
		switch {
		case err != nil:
			fmt.Fprintf(&text, "%s again: %v; ", way.name, err)
		case harness.SameRows(p.native, result) == "":
			fmt.Fprintf(&text, "%s again: as native; ", way.name)
		default:
			fmt.Fprintf(&text, "%s again: %s; ", way.name, harness.SameRows(p.native, result))
		}
	}
	_ = r.exec("set local gpujoin.keep = always") // the transaction may have failed
	return text.String()
}
