package differential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gpujoin/tests/harness"
)

// Settings of the cluster: plans for small tables may be parallel, and
// auto_explain can tell the plan of a query that runs.
func clusterSettings(logs bool) harness.Settings {
	preloaded := "gpujoin"
	if logs {
		preloaded += ",auto_explain"
	}
	return harness.Settings{
		"session_preload_libraries":    "'" + preloaded + "'",
		"shared_buffers":               "256MB",
		"max_worker_processes":         "16",
		"max_parallel_workers":         "16",
		"parallel_setup_cost":          "0",
		"parallel_tuple_cost":          "0",
		"min_parallel_table_scan_size": "0",
		"jit":                          "off",
		"statement_timeout":            "'10s'",
	}
}

// Settings of every session. PostgreSQL expects very few rows of some of the
// joins, and its nested loops over them would take minutes.
const sessionSettings = "enable_nestloop = off"

// native and forced are settings of the two runs of a query.
var (
	native = []string{"gpujoin.enabled = off", "max_parallel_workers_per_gather = 0"}
	forced = []string{"gpujoin.enabled = on", "gpujoin.debug_force = on", "gpujoin.min_rows = 0", "gpujoin.keep = off"}
)

// logged makes auto_explain send the executed plan as a notice. It sends none
// for a query that raises an error.
var logged = []string{"auto_explain.log_min_duration = 0", "auto_explain.log_analyze = on", "auto_explain.log_timing = off",
	"auto_explain.log_format = json", "auto_explain.log_level = notice"}

// World is a server with a daemon, and a session.
type World struct {
	pair *harness.Pair
	s    *harness.Session
	logs bool // the server has auto_explain
	icu  bool // the server has ICU
	kept bool // tables are vacuumed, and offloaded queries run over kept columns
}

// Start starts a server with a daemon.
func Start(ctx context.Context, env *harness.Env) (*World, error) {
	_, err := os.Stat(filepath.Join(env.Prefix.Lib, "auto_explain.so"))
	logs := err == nil
	pair, err := env.StartPair(clusterSettings(logs), harness.DaemonOptions{
		"extent-size": "1MB", "memory-budget": "1GB", "memory-warm": "16MB", "calibrate": "false",
	})
	if err != nil {
		return nil, err
	}
	w := &World{pair: pair, logs: logs}
	if w.s, err = pair.Cluster.Connect(ctx); err == nil {
		err = w.s.Exec(ctx, "create extension gpujoin")
	}
	if err == nil {
		w.icu = w.s.Exec(ctx, "create collation probe (provider = icu, locale = 'und'); drop collation probe") == nil
	}
	if err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	return w, nil
}

// Stop stops both.
func (w *World) Stop() error {
	var err error
	if w.s != nil {
		err = w.s.Close()
	}
	return errors.Join(err, w.pair.Stop())
}

// Fill creates and fills the tables of a generator.
func (w *World) Fill(ctx context.Context, g *Generator) error {
	if err := w.s.Exec(ctx, "reset all; set statement_timeout = 0;"+g.Schema(5, w.icu)); err != nil {
		return err
	}
	for _, t := range g.Tables {
		if _, err := w.s.Conn().CopyFrom(ctx, strings.NewReader(g.Data(t)), "copy "+t.Name+" from stdin"); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	return w.s.Exec(ctx, "analyze")
}

// Outcome is the result of a query: rows, or an error.
type outcome struct {
	rows *harness.Result
	err  error
}

// timeout reports whether statement_timeout ended the query.
func (o outcome) timeout() bool { return harness.SQLState(o.err) == "57014" }

// invalid reports whether the text is no query.
func (o outcome) invalid() bool { return strings.HasPrefix(harness.SQLState(o.err), "42") }

func (o outcome) String() string {
	if o.err != nil {
		return o.err.Error()
	}
	return fmt.Sprintf("%d rows", len(o.rows.Rows))
}

// difference describes how got differs from the native outcome, "" if it does not.
func (o outcome) difference(got outcome) string {
	switch {
	case o.err == nil && got.err == nil:
		return harness.SameRows(o.rows, got.rows)
	case o.err != nil && got.err != nil && o.err.Error() == got.err.Error():
		return ""
	case dataError(o.err) && dataError(got.err):
		// Of several errors, the plan decides which one comes first.
		return ""
	}
	return fmt.Sprintf("native: %v; offloaded: %v", o, got)
}

// dataError reports whether a value of some row caused the error.
func dataError(err error) bool {
	return strings.HasPrefix(harness.SQLState(err), "22") ||
		err != nil && strings.Contains(err.Error(), "cannot convert NaN")
}

// run executes a query under settings.
func (w *World) run(ctx context.Context, settings []string, sql string) outcome {
	if err := w.set(ctx, settings); err != nil {
		return outcome{err: err}
	}
	rows, err := w.s.Query(ctx, sql)
	return outcome{rows, err}
}

func (w *World) set(ctx context.Context, settings []string) error {
	return w.s.Exec(ctx, "deallocate all; reset all; set search_path = small, gen, public; set plan_cache_mode = force_generic_plan; set "+
		strings.Join(append([]string{sessionSettings}, settings...), "; set "))
}

// keep prepares a round in which columns are kept, or one without.
func (w *World) keep(ctx context.Context, kept bool) error {
	if w.kept = kept; !kept {
		return nil
	}
	return w.s.Exec(ctx, "vacuum")
}

// change changes some rows of a table of the generator, and then vacuums it or not.
func (w *World) change(ctx context.Context, r *rand.Rand, t Table) error {
	from := r.IntN(t.Rows + 1)
	where := fmt.Sprintf(" where id between %d and %d", from, from+t.Rows/50)
	statements := []string{"update " + t.Name + " set id = id" + where, "delete from " + t.Name + where}
	sql := "set search_path = gen, public; " + statements[r.IntN(2)]
	err := w.s.Exec(ctx, sql)
	if err == nil && r.IntN(2) == 0 {
		err = w.s.Exec(ctx, "vacuum "+t.Name)
	}
	return err
}

// Comparison is what a query did natively and offloaded.
type Comparison struct {
	Difference string   // "" if both did the same
	Skipped    bool     // one of them ran into statement_timeout
	Invalid    error    // the text is no query
	Failed     bool     // both raised the same error
	Nodes      int      // nodes of the plan with a job
	Executed   int      // jobs that the daemon executed
	Dropped    float64  // rows that filters of keys dropped
	Kept       float64  // blocks of tables that the daemon had kept
	Fallbacks  []string // why others ran natively
	Rows       int
}

// Offloaded reports whether the daemon executed a part of the query.
func (c Comparison) Offloaded() bool { return c.Executed > 0 }

// Compare runs a query natively and offloaded. After a crash it starts again
// what has ended.
func (w *World) Compare(ctx context.Context, settings []string, sql string) (c Comparison, err error) {
	want := w.run(ctx, native, sql)
	switch {
	case want.timeout():
		return Comparison{Skipped: true}, ctx.Err()
	case want.invalid():
		return Comparison{Invalid: want.err}, ctx.Err()
	}
	offloaded := slices.Concat(forced, settings)
	if w.kept {
		offloaded = append(offloaded, "gpujoin.keep = always")
		// This run stores the blocks that the next one may get.
		if first := w.run(ctx, offloaded, sql); first.timeout() {
			return Comparison{Skipped: true}, ctx.Err()
		}
	}
	executed := offloaded
	if w.logs {
		executed = slices.Concat(offloaded, logged)
	}
	_ = w.s.Notices() // those of earlier queries
	got := w.run(ctx, executed, sql)
	if got.timeout() {
		return Comparison{Skipped: true}, ctx.Err()
	}
	if want.rows != nil {
		c.Rows = len(want.rows.Rows)
	}
	c.Failed = want.err != nil
	if c.Difference = want.difference(got); c.Difference != "" && got.err == nil != (want.err == nil) {
		// A parallel native plan may evaluate other rows than a serial one.
		if other := w.run(ctx, append(offloaded, "gpujoin.enabled = off"), sql); other.difference(got) == "" {
			c.Difference = ""
		}
	}
	if restarted, err := w.revive(ctx); err != nil {
		return c, err
	} else if restarted != "" {
		c.Difference = restarted + "; " + c.Difference
		return c, nil
	}
	return c, w.explain(ctx, &c, offloaded, got, sql)
}

// explain fills in what the daemon did.
func (w *World) explain(ctx context.Context, c *Comparison, settings []string, got outcome, sql string) error {
	plan, err := w.plan(ctx, settings, got, sql)
	if err != nil {
		// A query that cannot be planned has failed in the same way before.
		planned := got.err == nil || harness.SQLState(got.err) != harness.SQLState(err)
		if c.Difference == "" && planned && harness.SQLState(err) != "57014" && !dataError(err) {
			c.Difference = "explain: " + err.Error()
		}
		return ctx.Err()
	}
	for _, job := range plan.Jobs() {
		c.Nodes++
		if got.err == nil && job.Text("Fallback") == "" && job.Text("Provider") != "" {
			c.Executed++
		}
		for _, input := range job.Inputs() {
			c.Kept += input.Number("Blocks Kept") + input.Number("Blocks Proved")
			for _, filter := range input.KeyFilters() {
				if filter["Rows Dropped"] != nil {
					c.Dropped += filter.Number("Rows Dropped")
				}
			}
		}
	}
	plan.All(func(n harness.Node) bool {
		reason := n.Text("Fallback")
		if reason != "" {
			c.Fallbacks = append(c.Fallbacks, reason)
		}
		if c.Difference == "" && (strings.Contains(reason, "internal error") || strings.Contains(reason, "malformed")) {
			c.Difference = "fallback: " + reason
		}
		return true
	})
	return nil
}

// plan returns the plan of the query that has just run: the executed one, which
// auto_explain has sent, or one that EXPLAIN makes.
func (w *World) plan(ctx context.Context, settings []string, got outcome, sql string) (harness.Node, error) {
	for _, notice := range slices.Backward(w.s.Notices()) {
		if plan := harness.LoggedPlan(notice); plan != nil {
			return plan, nil
		}
	}
	if err := w.set(ctx, settings); err != nil {
		return nil, err
	}
	options := "analyze, timing off"
	if got.err != nil {
		options = ""
	}
	before, last := lastStatement(sql)
	if err := w.s.Exec(ctx, before); err != nil {
		return nil, err
	}
	return w.s.Explain(ctx, options, last)
}

// revive starts again what has ended, and says what that was.
func (w *World) revive(ctx context.Context) (string, error) {
	ended, err := w.pair.Revive(ctx, w.s)
	if err != nil || !w.s.Conn().IsClosed() {
		return ended, err
	}
	_ = w.s.Close() // it is closed
	w.s, err = w.pair.Cluster.Connect(ctx)
	return ended, err
}
