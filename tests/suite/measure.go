package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Measurement is what was measured of a query.
type Measurement struct {
	Query int
	// Times are those of all measured runs, by engine; of an engine in TimedOut none.
	Times map[string][]float64
	// Executed is what the daemon executed, for the planner's choice and forced.
	Executed   map[string]Executed
	Rows       int
	Equal      bool // for all engines of PostgreSQL that finished
	Difference string
	TimedOut   []string // engines
	// Kept is what the runs read from kept columns, if the measurement is one over these.
	Kept map[string]*Kept
}

// Executed is what the daemon executed of a query, in one more run with EXPLAIN ANALYZE.
type Executed struct {
	Joins, Blocks int
	Ms            float64 // of the whole query
	// Phases are those of all jobs together, which may overlap.
	Phases harness.JobPhases
}

// Ms returns the median of an engine, 0 if it has not finished.
func (m *Measurement) Ms(engine string) float64 { return measure.Median(m.Times[engine]) }

// Modes of running a query, as settings of the session.
const (
	Native    = "set gpujoin.enabled = off; set gpujoin.debug_force = off"
	Forced    = "set gpujoin.enabled = on; set gpujoin.debug_force = on"
	Automatic = "set gpujoin.enabled = on; set gpujoin.debug_force = off"
)

// modes are those of Measure, and the engines that they are.
var modes = []struct{ settings, engine string }{
	{Native, measure.Postgres}, {Forced, measure.Forced}, {Automatic, measure.Gpujoin},
}

// Options say how queries are measured.
type Options struct {
	Runs    int           // of each mode; the median counts
	Timeout time.Duration // of one run; 0: none
	Kept    bool          // columns are kept before the first measured run
	Workers []int         // native runs with these numbers of workers for each Gather, too
}

// long is the time of a run from which on caches no longer matter: it is not
// repeated.
const long = 10 * time.Second

// queryCancelled is the SQLSTATE of a statement that ran into the timeout.
const queryCancelled = "57014"

// measuring is the state of Measure.
type measuring struct {
	*harness.Session
	query Query
	ways  []way
	want  *harness.Result // of the first run that finished
	m     *Measurement
}

// way is how PostgreSQL executes the query, as settings of the session.
type way struct{ settings, engine string }

// ways are the modes, and native runs with other numbers of workers.
func (o Options) ways() (list []way) {
	const workers = "; set max_parallel_workers_per_gather = "
	for _, m := range modes {
		list = append(list, way{m.settings + "; reset max_parallel_workers_per_gather", m.engine})
	}
	for _, n := range o.Workers {
		list = append(list, way{fmt.Sprint(Native, workers, n), measure.Workers(n)})
	}
	return list
}

// Measure runs a query in the three modes in turn, after one native run that
// warms the caches. Each round begins with another mode, so that no mode always
// pays for the previous one: cold caches, and memory that the daemon clears.
func Measure(ctx context.Context, s *harness.Session, q Query, o Options) (*Measurement, error) {
	x := &measuring{Session: s, query: q, ways: o.ways(), m: &Measurement{
		Query: q.Number, Equal: true, Times: map[string][]float64{}, Executed: map[string]Executed{}, Kept: map[string]*Kept{},
	}}
	if err := s.Exec(ctx, fmt.Sprintf("set statement_timeout = %d", o.Timeout.Milliseconds())); err != nil {
		return nil, err
	}
	native := x.ways[0]
	if err := x.run(ctx, native); err != nil {
		return nil, err
	}
	m := x.m
	if !x.finished(native) {
		m.Times[native.engine] = nil
	}
	warmed := 0
	if o.Kept {
		var err error
		if warmed, err = WarmKept(ctx, s, q.SQL, Forced, Automatic); err != nil && harness.SQLState(err) != queryCancelled {
			return nil, err
		}
	}
	for round := range o.Runs {
		for i := range x.ways {
			w := x.ways[(round+i)%len(x.ways)]
			if x.finished(w) {
				continue
			}
			if hopeless, err := x.hopeless(ctx, w); err != nil {
				return nil, err
			} else if hopeless {
				m.TimedOut = append(m.TimedOut, w.engine)
				continue
			}
			if err := x.run(ctx, w); err != nil {
				return nil, err
			}
		}
	}
	for _, w := range x.ways {
		if w.engine != measure.Forced && w.engine != measure.Gpujoin {
			continue
		}
		kept, err := x.explain(ctx, w)
		if err != nil {
			return nil, err
		}
		if o.Kept && kept != nil {
			kept.Runs = warmed
			m.Kept[w.engine] = kept
		}
	}
	return m, s.Exec(ctx, "reset all")
}

// finished reports whether a way needs no further run.
func (x *measuring) finished(w way) bool {
	return x.timedOut(w) || slices.ContainsFunc(x.m.Times[w.engine], func(ms float64) bool {
		return ms >= float64(long.Milliseconds())
	})
}

// hopeless reports whether a way's plan is native, and the native plan timed out.
func (x *measuring) hopeless(ctx context.Context, w way) (bool, error) {
	if !x.timedOut(x.ways[0]) {
		return false, nil
	}
	if err := x.Exec(ctx, w.settings); err != nil {
		return false, err
	}
	plan, err := x.Explain(ctx, "", x.query.SQL)
	return err == nil && len(plan.Jobs()) == 0, err
}

func (x *measuring) timedOut(w way) bool { return slices.Contains(x.m.TimedOut, w.engine) }

// stop notes that a way has timed out. Its earlier runs do not count.
func (x *measuring) stop(w way) {
	x.m.TimedOut = append(x.m.TimedOut, w.engine)
	delete(x.m.Times, w.engine)
}

// run runs the query once and compares its rows.
func (x *measuring) run(ctx context.Context, w way) error {
	if err := x.Exec(ctx, w.settings); err != nil {
		return err
	}
	begin := time.Now()
	got, err := x.Query(ctx, x.query.SQL)
	if harness.SQLState(err) == queryCancelled {
		x.stop(w)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", w.engine, err)
	}
	x.m.Times[w.engine] = append(x.m.Times[w.engine], measure.Ms(time.Since(begin)))
	if x.want == nil {
		x.want, x.m.Rows = got, len(got.Rows)
	}
	d := difference(x.query.SQL, x.want, got)
	if d == "" || !x.m.Equal {
		return nil
	}
	// Which of equal rows a LIMIT returns is not decided.
	if all, limited := withoutLimit(x.query.SQL); limited {
		if d, err = x.compareAll(ctx, w, all); err != nil {
			return err
		}
	}
	if d != "" {
		x.m.Equal, x.m.Difference = false, w.engine+": "+d
	}
	return nil
}

// compareAll compares the rows of another query with the native ones.
func (x *measuring) compareAll(ctx context.Context, w way, sql string) (string, error) {
	var results []*harness.Result
	for _, w := range []way{x.ways[0], w} {
		if err := x.Exec(ctx, w.settings); err != nil {
			return "", err
		}
		r, err := x.Query(ctx, sql)
		if err != nil {
			return "", fmt.Errorf("%s, without LIMIT: %w", w.engine, err)
		}
		results = append(results, r)
	}
	return difference(sql, results[0], results[1]), nil
}

// explain runs the query once more and notes what the daemon executes.
func (x *measuring) explain(ctx context.Context, w way) (*Kept, error) {
	if x.timedOut(w) {
		return nil, nil
	}
	if err := x.Exec(ctx, w.settings); err != nil {
		return nil, err
	}
	begin := time.Now()
	plan, err := x.Explain(ctx, "analyze, timing off", x.query.SQL)
	if harness.SQLState(err) == queryCancelled {
		x.stop(w)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: explain: %w", w.engine, err)
	}
	x.m.Executed[w.engine] = Executed{
		Joins: plan.OffloadedJoins(), Blocks: plan.OffloadedBlocks(), Ms: measure.Ms(time.Since(begin)), Phases: plan.JobPhases(),
	}
	return KeptBy(plan), nil
}

// Line describes the measurement in one line, for progress.
func (m *Measurement) Line() string {
	text := fmt.Sprintf("query %2d: native %s, offloaded %s, automatic %s ms, %d rows",
		m.Query, ms(m.Ms(measure.Postgres)), ms(m.Ms(measure.Forced)), ms(m.Ms(measure.Gpujoin)), m.Rows)
	if len(m.TimedOut) > 0 {
		text += ", timed out: " + strings.Join(m.TimedOut, ", ")
	}
	if len(m.Kept) > 0 {
		text += fmt.Sprintf("; kept: %v; automatic: %v", m.Kept[measure.Forced], m.Kept[measure.Gpujoin])
	}
	if !m.Equal {
		text += ", DIFFERENT"
	}
	return text
}

// ms prints milliseconds; a mode that did not finish has none.
func ms(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", v)
}
