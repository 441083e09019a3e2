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

// Measurement is the entry of a query in the suite's JSON file.
type Measurement struct {
	Query     int     `json:"query"`
	NativeMs  float64 `json:"native_ms"` // of a mode in TimedOut: 0
	OffloadMs float64 `json:"offload_ms"`
	AutoMs    float64 `json:"auto_ms"`
	// DuckDBMs is DuckDB's time on the same data and cores.
	DuckDBMs       float64  `json:"duckdb_ms"`
	OffloadedJoins int      `json:"offloaded_joins"` // executed in the daemon when forced
	AutoJoins      int      `json:"auto_joins"`      // by the planner's own choice
	Blocks         int      `json:"blocks"`          // query blocks executed in the daemon when forced
	AutoBlocks     int      `json:"auto_blocks"`
	Rows           int      `json:"rows"`
	Equal          bool     `json:"equal"` // in all modes that finished
	Difference     string   `json:"difference,omitempty"`
	TimedOut       []string `json:"timed_out,omitempty"` // modes
	// Kept is what the forced and the automatic runs read from kept columns, if the
	// measurement is one over these.
	Kept     *Kept `json:"kept,omitempty"`
	AutoKept *Kept `json:"auto_kept,omitempty"`
}

// Modes of running a query, as settings of the session.
const (
	Native    = "set gpujoin.enabled = off; set gpujoin.debug_force = off"
	Forced    = "set gpujoin.enabled = on; set gpujoin.debug_force = on"
	Automatic = "set gpujoin.enabled = on; set gpujoin.debug_force = off"
)

var modeNames = map[string]string{Native: "native", Forced: "offloaded", Automatic: "automatic"}

// Options say how queries are measured.
type Options struct {
	Runs    int           // of each mode; the median counts
	Timeout time.Duration // of one run; 0: none
	Kept    bool          // columns are kept before the first measured run
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
	times map[string][]float64 // by mode
	want  *harness.Result      // of the first run that finished
	m     *Measurement
}

// Measure runs a query in the three modes in turn, after one native run that
// warms the caches. Each round begins with another mode, so that no mode always
// pays for the previous one: cold caches, and memory that the daemon clears.
func Measure(ctx context.Context, s *harness.Session, q Query, o Options) (*Measurement, error) {
	x := &measuring{Session: s, query: q, times: map[string][]float64{}, m: &Measurement{Query: q.Number, Equal: true}}
	if err := s.Exec(ctx, fmt.Sprintf("set statement_timeout = %d", o.Timeout.Milliseconds())); err != nil {
		return nil, err
	}
	if err := x.run(ctx, Native); err != nil {
		return nil, err
	}
	if !x.finished(Native) {
		x.times[Native] = nil
	}
	m := x.m
	warmed := 0
	if o.Kept {
		var err error
		if warmed, err = WarmKept(ctx, s, q.SQL, Forced, Automatic); err != nil && harness.SQLState(err) != queryCancelled {
			return nil, err
		}
	}
	modes := []string{Native, Forced, Automatic}
	for round := range o.Runs {
		for i := range modes {
			mode := modes[(round+i)%len(modes)]
			if x.finished(mode) {
				continue
			}
			if hopeless, err := x.hopeless(ctx, mode); err != nil {
				return nil, err
			} else if hopeless {
				m.TimedOut = append(m.TimedOut, modeNames[mode])
				continue
			}
			if err := x.run(ctx, mode); err != nil {
				return nil, err
			}
		}
	}
	m.NativeMs = measure.Median(x.times[Native])
	m.OffloadMs = measure.Median(x.times[Forced])
	m.AutoMs = measure.Median(x.times[Automatic])
	var err error
	if m.OffloadedJoins, m.Blocks, m.Kept, err = x.offloaded(ctx, Forced); err != nil {
		return nil, err
	}
	if m.AutoJoins, m.AutoBlocks, m.AutoKept, err = x.offloaded(ctx, Automatic); err != nil {
		return nil, err
	}
	if !o.Kept {
		m.Kept, m.AutoKept = nil, nil
	} else if m.Kept != nil {
		m.Kept.Runs = warmed
	}
	return m, s.Exec(ctx, "reset all")
}

// finished reports whether a mode needs no further run.
func (x *measuring) finished(mode string) bool {
	return x.timedOut(mode) || slices.ContainsFunc(x.times[mode], func(ms float64) bool {
		return ms >= float64(long.Milliseconds())
	})
}

// hopeless reports whether a mode's plan is native, and the native plan timed out.
func (x *measuring) hopeless(ctx context.Context, mode string) (bool, error) {
	if !x.timedOut(Native) {
		return false, nil
	}
	if err := x.Exec(ctx, mode); err != nil {
		return false, err
	}
	plan, err := x.Explain(ctx, "", x.query.SQL)
	return err == nil && len(plan.Jobs()) == 0, err
}

func (x *measuring) timedOut(mode string) bool {
	return slices.Contains(x.m.TimedOut, modeNames[mode])
}

// run runs the query once and compares its rows.
func (x *measuring) run(ctx context.Context, mode string) error {
	if err := x.Exec(ctx, mode); err != nil {
		return err
	}
	begin := time.Now()
	got, err := x.Query(ctx, x.query.SQL)
	if harness.SQLState(err) == queryCancelled {
		x.m.TimedOut = append(x.m.TimedOut, modeNames[mode])
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", modeNames[mode], err)
	}
	x.times[mode] = append(x.times[mode], measure.Ms(time.Since(begin)))
	if x.want == nil {
		x.want, x.m.Rows = got, len(got.Rows)
	}
	d := difference(x.query.SQL, x.want, got)
	if d == "" || !x.m.Equal {
		return nil
	}
	// Which of equal rows a LIMIT returns is not decided.
	if all, limited := withoutLimit(x.query.SQL); limited {
		if d, err = x.compareAll(ctx, mode, all); err != nil {
			return err
		}
	}
	if d != "" {
		x.m.Equal, x.m.Difference = false, modeNames[mode]+": "+d
	}
	return nil
}

// compareAll compares the rows of another query in a mode with the native ones.
func (x *measuring) compareAll(ctx context.Context, mode, sql string) (string, error) {
	var results []*harness.Result
	for _, m := range []string{Native, mode} {
		if err := x.Exec(ctx, m); err != nil {
			return "", err
		}
		r, err := x.Query(ctx, sql)
		if err != nil {
			return "", fmt.Errorf("%s, without LIMIT: %w", modeNames[m], err)
		}
		results = append(results, r)
	}
	return difference(sql, results[0], results[1]), nil
}

// offloaded counts the joins and query blocks that the daemon executes.
func (x *measuring) offloaded(ctx context.Context, mode string) (joins, blocks int, kept *Kept, err error) {
	if x.timedOut(mode) {
		return 0, 0, nil, nil
	}
	if err := x.Exec(ctx, mode); err != nil {
		return 0, 0, nil, err
	}
	plan, err := x.Explain(ctx, "analyze, timing off", x.query.SQL)
	if harness.SQLState(err) == queryCancelled {
		x.m.TimedOut = append(x.m.TimedOut, modeNames[mode])
		return 0, 0, nil, nil
	}
	if err != nil {
		return 0, 0, nil, fmt.Errorf("%s: explain: %w", modeNames[mode], err)
	}
	return plan.OffloadedJoins(), plan.OffloadedBlocks(), KeptBy(plan), nil
}

// Line describes the measurement in one line, for progress.
func (m *Measurement) Line() string {
	text := fmt.Sprintf("query %2d: native %s, offloaded %s, automatic %s ms, %d rows",
		m.Query, ms(m.NativeMs), ms(m.OffloadMs), ms(m.AutoMs), m.Rows)
	if len(m.TimedOut) > 0 {
		text += ", timed out: " + strings.Join(m.TimedOut, ", ")
	}
	if m.AutoKept != nil {
		text += fmt.Sprintf("; kept: %v; automatic: %v", m.Kept, m.AutoKept)
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
