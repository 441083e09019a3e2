package sqllogic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"gpujoin/tests/harness"
)

// Report counts what files have done. It is the content of build/sqllogic.json.
type Report struct {
	Files       int    `json:"files"`
	Malformed   int    `json:"malformed"`   // files that the parser rejects
	Statements  int    `json:"statements"`  // that PostgreSQL accepted
	Rejected    int    `json:"rejected"`    // statements and queries that PostgreSQL rejected
	Compared    int    `json:"compared"`    // queries
	Offloaded   int    `json:"offloaded"`   // of them, those with a node of the extension, serially or in parallel
	Unstable    int    `json:"unstable"`    // whose native results may differ: between plans, or by chance
	Skipped     int    `json:"skipped"`     // that ran into statement_timeout
	Differences int    `json:"differences"` // queries
	Crashes     int    `json:"crashes"`     // of the server or the daemon
	Cases       []Case `json:"cases"`       // the differences and crashes
}

// Case is a difference or a crash.
type Case struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	SQL        string `json:"sql"`
	Difference string `json:"difference"`
}

// Runner runs files in a private server.
type Runner struct {
	Report Report
	pair   *harness.Pair
	admin  *harness.Session
	s      *harness.Session // of the file that is running
}

// role runs the files: one without the right to read and write the machine's files.
const role = "logic"

// Start starts a server with a daemon.
func Start(ctx context.Context, env *harness.Env) (*Runner, error) {
	pair, err := env.StartPair(harness.Settings{
		"max_worker_processes": "16", "max_parallel_workers": "16", "parallel_setup_cost": "0", "parallel_tuple_cost": "0",
		"min_parallel_table_scan_size": "0", "jit": "off", "statement_timeout": "'10s'",
	}, harness.DaemonOptions{"extent-size": "1MB", "memory-budget": "1GB", "memory-warm": "16MB", "calibrate": "false"})
	if err != nil {
		return nil, err
	}
	r := &Runner{pair: pair}
	if r.admin, err = pair.Cluster.Connect(ctx); err == nil {
		err = r.admin.Exec(ctx, "create role "+role+" login")
	}
	if err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// Stop stops both.
func (r *Runner) Stop() error {
	var err error
	if r.admin != nil {
		err = r.admin.Close()
	}
	return errors.Join(err, r.pair.Stop())
}

// Settings of the runs of a query.
const (
	native   = "set gpujoin.enabled = off; set max_parallel_workers_per_gather = 0"
	serial   = "set gpujoin.enabled = on; set gpujoin.debug_force = on; set gpujoin.min_rows = 0; set gpujoin.enable_aggregates = on; set max_parallel_workers_per_gather = 0"
	parallel = "set gpujoin.enabled = on; set gpujoin.debug_force = on; set gpujoin.min_rows = 0; set gpujoin.enable_aggregates = on; set max_parallel_workers_per_gather = 2"
)

// others are settings of native plans that a query without ORDER BY may also have.
var others = []string{
	native + "; set enable_hashjoin = off; set enable_hashagg = off",
	native + "; set enable_mergejoin = off; set enable_nestloop = off; set enable_sort = off",
	native + "; set enable_nestloop = on; set enable_hashjoin = off; set enable_mergejoin = off",
	native + "; set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off",
	native + "; set max_parallel_workers_per_gather = 2",
	native + "; set random_page_cost = 1; set enable_seqscan = off",
}

// File runs a file in a database of its own. It returns an error only if the
// server or the daemon cannot be started again.
func (r *Runner) File(ctx context.Context, path, name string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r.Report.Files++
	records, err := Parse(string(text))
	if err != nil {
		r.Report.Malformed++
		return nil
	}
	err = r.admin.Exec(ctx, "drop database if exists logic with (force); ")
	if err == nil {
		err = r.admin.Exec(ctx, "create database logic owner "+role)
	}
	if err == nil {
		r.s, err = r.pair.Cluster.ConnectAs(ctx, role, "logic")
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.s.Close() }() // the server may have closed it
	for _, record := range records {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		difference := r.record(ctx, record)
		ended, err := r.revive(ctx)
		if ended != "" {
			r.Report.Crashes++
			difference = ended
		} else if difference != "" {
			r.Report.Differences++
		}
		if difference != "" {
			r.Report.Cases = append(r.Report.Cases, Case{name, record.Line, record.SQL, difference})
		}
		if ended != "" || err != nil {
			return err // the rest of the file lacks its tables' state
		}
	}
	return nil
}

var (
	readsOnly = regexp.MustCompile(`(?is)^\(*(select|with|values|table)\b`)
	writes    = regexp.MustCompile(`(?i)\b(insert|update|delete|merge|into|nextval|setval)\b`)
	chance    = regexp.MustCompile(`(?i)\b(random|random_normal|gen_random_uuid|clock_timestamp|timeofday)\s*\(`)
)

// record executes a record and returns how the results differ, "" if they do not.
func (r *Runner) record(ctx context.Context, record Record) string {
	if record.Query && readsOnly.MatchString(record.SQL) && !writes.MatchString(record.SQL) {
		return r.compare(ctx, record.SQL)
	}
	got := r.run(ctx, native, record.SQL, false)
	switch {
	case got.err == nil:
		r.Report.Statements++
	default:
		r.Report.Rejected++
	}
	return ""
}

type outcome struct {
	rows *harness.Result
	err  error
}

func (o outcome) String() string {
	if o.err != nil {
		return o.err.Error()
	}
	return fmt.Sprintf("%d rows", len(o.rows.Rows))
}

// difference compares rows as multisets of text, and errors by SQLSTATE.
func (o outcome) difference(got outcome) string {
	switch {
	case o.err == nil && got.err == nil:
		return harness.SameRows(o.rows, got.rows)
	case o.err != nil && got.err != nil && harness.SQLState(o.err) == harness.SQLState(got.err):
		return ""
	}
	return fmt.Sprintf("native: %v; offloaded: %v", o, got)
}

func (o outcome) timeout() bool { return harness.SQLState(o.err) == "57014" }

// rejected reports whether PostgreSQL cannot run the text at all.
func (o outcome) rejected() bool {
	state := harness.SQLState(o.err)
	return strings.HasPrefix(state, "42") || strings.HasPrefix(state, "0A") || strings.HasPrefix(state, "3") || state == "25P02"
}

// run executes SQL under settings. A query leaves no trace in a transaction that
// the file has begun.
func (r *Runner) run(ctx context.Context, settings, sql string, query bool) outcome {
	inside := query && r.s.Conn().TxStatus() == 'T'
	before := settings
	if inside {
		before = "savepoint query; " + before
	}
	if err := r.s.Exec(ctx, before); err != nil {
		return outcome{err: err}
	}
	rows, err := r.s.Query(ctx, sql)
	after := ""
	switch {
	case inside:
		after = "rollback to savepoint query"
	case r.s.Conn().TxStatus() == 'E':
		after = "rollback"
	}
	if after != "" && !r.s.Conn().IsClosed() {
		if e := r.s.Exec(ctx, after); e != nil && err == nil {
			err = e
		}
	}
	return outcome{rows, err}
}

// compare executes a query natively, and offloaded serially and in parallel.
func (r *Runner) compare(ctx context.Context, sql string) string {
	want := r.run(ctx, native, sql, true)
	switch {
	case want.timeout():
		r.Report.Skipped++
		return ""
	case want.rejected():
		r.Report.Rejected++
		return ""
	}
	r.Report.Compared++
	offloaded := false
	for _, settings := range []string{serial, parallel} {
		got := r.run(ctx, settings, sql, true)
		if r.s.Conn().IsClosed() {
			return ""
		}
		if got.timeout() {
			r.Report.Skipped++
			continue
		}
		if difference := want.difference(got); difference != "" {
			if r.unstable(ctx, sql, want) {
				r.Report.Unstable++
				return ""
			}
			return difference
		}
		plan := r.run(ctx, settings, "explain (costs off) "+sql, true)
		offloaded = offloaded || plan.err == nil && strings.Contains(strings.Join(plan.rows.Rows, "\n"), "Custom Scan (Offload")
	}
	if offloaded {
		r.Report.Offloaded++
	}
	return ""
}

// unstable reports whether another native plan, too, may return something else:
// one of them does, or the query calls a function whose value differs each time.
func (r *Runner) unstable(ctx context.Context, sql string, want outcome) bool {
	if chance.MatchString(sql) {
		return true
	}
	for _, settings := range others {
		got := r.run(ctx, settings, sql, true)
		if reset := r.run(ctx, "reset all", "select 1", false); reset.err != nil {
			return false
		}
		if want.difference(got) != "" {
			return true
		}
	}
	return false
}

// revive starts again what has ended, and says what that was.
func (r *Runner) revive(ctx context.Context) (string, error) {
	ended, err := r.pair.Revive(ctx, r.s)
	if err != nil || !r.s.Conn().IsClosed() {
		return ended, err
	}
	_ = r.admin.Close() // it is closed, too
	r.admin, err = r.pair.Cluster.Connect(ctx)
	return ended, err
}
