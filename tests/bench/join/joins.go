package join

import (
	"fmt"
	"strconv"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
)

// workload is one join, with two sums over both sides.
type workload struct{ name, sql string }

var workloads = []workload{
	{"10Mx1K", "select sum(f.v), sum(d.v) from fact f join d1k d on f.k1k = d.k"},
	{"10Mx1M", "select sum(f.v), sum(d.v) from fact f join d1m d on f.k1m = d.k"},
	{"10Mx10M", "select sum(f.v), sum(d.v) from fact f join d10m d on f.k10m = d.k"},
	{"star4", "select sum(s.v), sum(da.v + db.v + dc.v) from star s join da on s.a = da.k join db on s.b = db.k join dc on s.c = dc.k"},
}

// joinResult is what was measured of a workload. A time is the median of the best
// configuration of its mode.
type joinResult struct {
	Workload                    string
	NativeMs, OffloadMs, AutoMs float64
	Ratio                       float64
	Auto                        string // the planner's choice
	Equal                       bool
	Joins                       int
	Algorithms                  string
	InputBytes, PeakBytes       int64
	BoundBytes, ProcessBytes    int64

	// Kept is what the automatic and the forced plan read from kept columns, if the
	// measurement is one over these; see the package suite.
	Kept, AutoKept *suite.Kept

	best  map[string]config // by mode
	times map[config][]float64
	tried map[config]float64 // every configuration's median; for an eliminated one, its only time
}

// engines are the modes as engines of results.
var engines = map[string]string{native: measure.Postgres, automatic: measure.Gpujoin, forced: measure.Forced}

// results returns the workload as results of a document, one for each mode.
func (r *joinResult) results() (list []measure.Result) {
	for _, mode := range []string{native, automatic, forced} {
		c := r.best[mode]
		m := measure.Result{Name: r.Workload, Engine: engines[mode], Ms: r.times[c], Equal: &r.Equal,
			Values: map[string]float64{}, Texts: map[string]string{"settings": c.String()}}
		var kept *suite.Kept
		switch mode {
		case automatic:
			m.Texts["plan"], kept = r.Auto, r.AutoKept
		case forced:
			m.Texts["algorithms"], kept = r.Algorithms, r.Kept
			m.Values["joins"], m.Values["input_bytes"], m.Values["peak_bytes"] = float64(r.Joins), float64(r.InputBytes), float64(r.PeakBytes)
			m.Values["bound_bytes"], m.Values["process_peak_bytes"] = float64(r.BoundBytes), float64(r.ProcessBytes)
		}
		if kept != nil {
			m.Values["blocks_kept"], m.Values["blocks_fed"] = float64(kept.Blocks), float64(kept.Fed)
		}
		for c, ms := range r.tried {
			if c.mode == mode {
				m.Values["ms with "+c.String()] = ms
			}
		}
		list = append(list, m)
	}
	return list
}

// config is a way of running a query.
type config struct {
	mode    string
	workers int
	workMem string
}

func (c config) String() string {
	return fmt.Sprintf("%d extra workers, work_mem %s", c.workers, c.workMem)
}

// settings returns the session's settings. A forced node costs next to nothing, so the
// planner uses parallel workers for it only if starting them is free, too.
func (c config) settings() string {
	setup := "reset parallel_setup_cost"
	if c.mode == forced && c.workers > 0 {
		setup = "set parallel_setup_cost = 0"
	}
	return fmt.Sprintf("%s; %s; set max_parallel_workers_per_gather = %d; set work_mem = '%s'",
		c.mode, setup, c.workers, c.workMem)
}

const (
	native    = "set gpujoin.enabled = off; set gpujoin.debug_force = off"
	forced    = "set gpujoin.enabled = on; set gpujoin.debug_force = on"
	automatic = "set gpujoin.enabled = on; set gpujoin.debug_force = off"
)

var nativeConfigs = []config{
	{native, 0, "8MB"}, {native, 0, "1GB"}, {native, 1, "8MB"}, {native, 1, "1GB"},
}

var forcedConfigs = []config{{forced, 0, "8MB"}, {forced, 1, "8MB"}}

// once runs a query and returns its time and only row.
func (b *bench) once(c config, sql string) (ms float64, row string, err error) {
	if err := b.session.Exec(b.ctx, c.settings()); err != nil {
		return 0, "", err
	}
	begin := time.Now()
	r, err := b.session.Query(b.ctx, sql)
	if err != nil {
		return 0, "", fmt.Errorf("%v: %w", c, err)
	}
	if len(r.Rows) != 1 {
		return 0, "", fmt.Errorf("%d rows: %s", len(r.Rows), sql)
	}
	return measure.Ms(time.Since(begin)), r.Rows[0], nil
}

// contenders tries every configuration once and eliminates those that are much
// slower than the fastest.
func (b *bench) contenders(configs []config, sql string, tried map[config]float64) ([]config, error) {
	times := make([]float64, len(configs))
	best := 0.0
	for i, c := range configs {
		ms, _, err := b.once(c, sql)
		if err != nil {
			return nil, err
		}
		tried[c] = ms
		if times[i] = ms; best == 0 || ms < best {
			best = ms
		}
	}
	var kept []config
	for i, c := range configs {
		if times[i] <= 1.5*best {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

func (b *bench) joins() error {
	rows := []string{"workload\tnative ms\toffloaded ms\tratio\tautomatic ms\tautomatic\tsame\talgorithms\tkept\tautomatic, kept"}
	memory := []string{"workload\tinput MB\tpeak of job MB\tbound MB\tpeak of process MB"}
	for _, w := range workloads {
		say("%s", w.name)
		r, err := b.join(w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		b.results = append(b.results, r.results()...)
		rows = append(rows, fmt.Sprintf("%s\t%.0f\t%.0f\t%.2f\t%.0f\t%s\t%v\t%s\t%v\t%v", r.Workload,
			r.NativeMs, r.OffloadMs, r.Ratio, r.AutoMs, r.Auto, r.Equal, r.Algorithms, r.Kept, r.AutoKept))
		say("  native %.0f, offloaded %.0f, automatic %.0f ms: %.2f times as fast", r.NativeMs, r.OffloadMs, r.AutoMs, r.Ratio)
		mb := func(bytes int64) int64 { return bytes >> 20 }
		memory = append(memory, fmt.Sprintf("%s\t%d\t%d\t%d\t%d", r.Workload,
			mb(r.InputBytes), mb(r.PeakBytes), mb(r.BoundBytes), mb(r.ProcessBytes)))
		if !r.Equal {
			return fmt.Errorf("%s: other sums than the native plan's", w.name)
		}
	}
	return b.addTables(rows, memory)
}

// join measures one workload; each round runs every configuration in turn.
func (b *bench) join(w workload) (*joinResult, error) {
	r := &joinResult{Workload: w.name, Equal: true,
		best: map[string]config{}, times: map[config][]float64{}, tried: map[config]float64{}}
	if b.kept {
		modes := []string{config{forced, 1, "8MB"}.settings(), config{automatic, 1, "8MB"}.settings()}
		if _, err := suite.WarmKept(b.ctx, b.session, w.sql, modes...); err != nil {
			return nil, err
		}
	}
	configs := []config{{automatic, 1, "8MB"}}
	for _, set := range [][]config{nativeConfigs, forcedConfigs} {
		kept, err := b.contenders(set, w.sql, r.tried)
		if err != nil {
			return nil, err
		}
		configs = append(configs, kept...)
	}
	if err := harness.ResetPeak(b.daemon.PID()); err != nil {
		return nil, err
	}
	times := make([][]float64, len(configs))
	var expected string
	for range b.runs {
		for i, c := range configs {
			ms, row, err := b.once(c, w.sql)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], ms)
			if expected == "" {
				expected = row
			}
			r.Equal = r.Equal && row == expected
		}
	}
	for i, c := range configs {
		ms := measure.Round(measure.Median(times[i]), 2)
		r.times[c], r.tried[c] = times[i], ms
		if before, ok := r.best[c.mode]; !ok || ms < r.tried[before] {
			r.best[c.mode] = c
		}
		switch c.mode {
		case automatic:
			r.AutoMs = ms
		case native:
			if r.NativeMs == 0 || ms < r.NativeMs {
				r.NativeMs = ms
			}
		case forced:
			if r.OffloadMs == 0 || ms < r.OffloadMs {
				r.OffloadMs = ms
			}
		}
	}
	r.Ratio = measure.Round(r.NativeMs/r.OffloadMs, 2)
	return r, b.inspect(w, r)
}

// inspect records the planner's choice, and the forced plan's algorithm and costs.
func (b *bench) inspect(w workload, r *joinResult) error {
	if err := b.session.Exec(b.ctx, config{automatic, 1, "8MB"}.settings()); err != nil {
		return err
	}
	options := ""
	if b.kept {
		options = "analyze, timing off"
	}
	plan, err := b.session.Explain(b.ctx, options, w.sql)
	if err != nil {
		return err
	}
	if b.kept {
		r.AutoKept = suite.KeptBy(plan)
	}
	r.Auto = "native"
	if len(plan.Jobs()) > 0 {
		r.Auto = "offloaded"
	}
	memory, err := harness.MemoryOf(b.daemon.PID())
	if err != nil {
		return err
	}
	r.ProcessBytes = memory.Peak
	if err := b.session.Exec(b.ctx, config{forced, 1, "8MB"}.settings()); err != nil {
		return err
	}
	if plan, err = b.session.Explain(b.ctx, "analyze, timing off", w.sql); err != nil {
		return err
	}
	if b.kept {
		r.Kept = suite.KeptBy(plan)
	}
	r.Joins = plan.OffloadedJoins()
	if r.Joins == 0 {
		return fmt.Errorf("nothing was offloaded: %v", plan.Jobs())
	}
	for _, g := range plan.Jobs() {
		r.InputBytes += int64(g.Number("Bytes In"))
		r.PeakBytes += int64(g.Number("Peak Memory")) << 10
		for _, a := range g.Algorithms() {
			if r.Algorithms != "" {
				r.Algorithms += " "
			}
			r.Algorithms += a
		}
	}
	// Twice the inputs, the result batches in flight, and a tenth more.
	extent, err := b.session.One(b.ctx, "select status #>> '{pool,extent_size}' from gpujoin.daemon_status()")
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(extent, 10, 64)
	if err != nil {
		return fmt.Errorf("extent size: %w", err)
	}
	r.BoundBytes = (2*r.InputBytes + window*size) * 11 / 10
	return nil
}

// addTables appends tables to what is printed at the end.
func (b *bench) addTables(tables ...[]string) error {
	for _, rows := range tables {
		text, err := measure.TableText(rows...)
		if err != nil {
			return err
		}
		b.table = append(b.table, text)
	}
	return nil
}
