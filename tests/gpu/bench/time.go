//go:build cuda

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/tests/measure"
)

// algorithm is a join by name; chosen: the selector chooses the algorithm.
type algorithm struct {
	name   string
	run    columnar.Func
	chosen bool
}

func algorithms() []algorithm {
	with := func(o phj.Options) columnar.Func {
		return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
			return phj.Run(ctx, d, s, a, j, o)
		}
	}
	return []algorithm{
		{"auto", selector.Run, true},
		{"phj-om", phj.OM, false},
		{"phj-um", phj.UM, false},
		{"phj-place", with(phj.Options{Materialise: "place"}), false},
		{"phj-pack", with(phj.Options{Materialise: "pack"}), false},
		{"phj-bypass", with(phj.Options{Materialise: "bypass"}), false},
		{"phj-bloom", with(phj.Options{Bloom: "on"}), false},
		{"phj-whole", with(phj.Options{Bloom: "off"}), false},
		{"smj-om", columnar.SMJOM, false},
		{"smj-um", columnar.SMJUM, false},
		{"npj", columnar.NPJ, false},
	}
}

// choose returns the algorithms by name. Without names they are those of the paper and
// the selector.
func choose(names string) ([]algorithm, error) {
	all := algorithms()
	if names == "" {
		names = "auto,phj-om,phj-um,smj-om,smj-um,npj"
	}
	var list []algorithm
	for _, name := range split(names) {
		i := slices.IndexFunc(all, func(a algorithm) bool { return a.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no algorithm is named %s", name)
		}
		list = append(list, all[i])
	}
	return list, nil
}

// result is one line of the table and a result of the document.
type result struct {
	Case      string
	Algorithm string
	MS        float64
	WallMS    float64
	Chosen    bool
	PeakBytes int64
	Launches  int
	Syncs     int
	Bytes     int64
	Predicted float64 // by the model
	PeerMS    float64
	Fraction  float64 // of an aggregate: bytes of its columns, of what a copy moves in the time

	low    float64
	runs   []float64
	bound  int64 // of the peak memory
	phases []columnar.Phase
	wrong  string
}

const (
	suite = "bench-gpu" // of the results and their bars
	// bandwidth is the name of a value: Fraction.
	bandwidth = "bandwidth"
	// chosen is the engine of the algorithm that the selector chose.
	chosen = "chosen"
)

// bar is what the chosen algorithm, or an aggregate, must reach.
func (r *result) bar() measure.Bar {
	switch {
	case r.Fraction > 0:
		return measure.BarOf(suite, r.Case, bandwidth)
	case r.Chosen:
		return measure.BarOf(suite, r.Case, "ms")
	}
	return measure.Bar{}
}

// judged is the value that the bar is for.
func (r *result) judged() float64 {
	if r.Fraction > 0 {
		return r.Fraction
	}
	return r.MS
}

// document returns the line as a result of the document.
func (r *result) document() measure.Result {
	right := r.wrong == ""
	m := measure.Result{Name: r.Case, Engine: r.Algorithm, Ms: r.runs, Equal: &right, Texts: map[string]string{}, Values: map[string]float64{
		"wall_ms": r.WallMS, "peak_bytes": float64(r.PeakBytes), "bound_bytes": float64(r.bound), "launches": float64(r.Launches),
		"syncs": float64(r.Syncs), "bytes": float64(r.Bytes)}}
	if r.Chosen {
		m.Engine, m.Texts["algorithm"] = chosen, r.Algorithm
	}
	for name, v := range map[string]float64{"predicted_ms": r.Predicted, "peer_ms": r.PeerMS, bandwidth: r.Fraction} {
		if v > 0 {
			m.Values[name] = v
		}
	}
	if r.wrong != "" {
		m.Texts["wrong"] = measure.OneLine(r.wrong)
	}
	return m
}

func header() {
	fmt.Printf("%-11s %-18s %8s %9s %8s %8s %6s %11s %4s %5s\n", "case", "algorithm", "ms", "predicted", "min", "wall", "bar", "peak/bound", "lnch", "syncs")
}

func (r *result) print() {
	name, bar := r.Algorithm, ""
	if r.Chosen {
		name = "*" + name
	}
	if b := r.bar(); b.Exists() {
		bar = b.String()
	}
	note := r.wrong
	if r.Fraction > 0 {
		note += fmt.Sprintf(" %.0f %% of the bandwidth", 100*r.Fraction)
	}
	if !r.bar().Met(r.judged()) {
		note += " misses the bar"
	}
	if r.PeakBytes > r.bound {
		note += " above the bound"
	}
	fmt.Printf("%-11s %-18s %8.3f %9.3f %8.3f %8.3f %6s %5.2f/%5.2f %4d %5d %s\n", r.Case, name, r.MS, r.Predicted, r.low, r.WallMS, bar,
		float64(r.PeakBytes)/1e9, float64(r.bound)/1e9, r.Launches, r.Syncs, note)
	if len(r.phases) > 0 {
		var text []string
		for _, p := range r.phases {
			text = append(text, fmt.Sprintf("%s %.3f", p.Name, p.MS))
		}
		fmt.Println("   ", strings.Join(text, "; "))
	}
}

// named are the algorithms for which the model has a prediction without a sample.
var named = map[string]joincore.Algorithm{
	"phj-om": joincore.PHJOM, "phj-um": joincore.PHJUM, "smj-om": joincore.SMJOM, "smj-um": joincore.SMJUM, "npj": joincore.NPJ,
}

// predicted returns the model's prediction in ms: for the chosen algorithm by
// the sample, for others by the data's match ratio; 0: none.
func (b *bench) predicted(j *columnar.Join, a algorithm, report *columnar.Report) (ms float64) {
	if a.chosen {
		for _, p := range report.Predicted {
			ms += p.MS
		}
		return ms
	}
	if known, ok := named[a.name]; ok {
		return selector.Rates(b.device).Named(describe(j), known).MS
	}
	return 0
}

// describe describes a join to the model, as the selector does without a sample.
func describe(j *columnar.Join) *costmodel.Resident {
	r := costmodel.Resident{
		KeyBytes: j.Build.Key.Bytes, Rows: [2]int64{j.Build.Rows, j.Probe.Rows}, ResultRows: j.OutputRows,
		MatchRatio: min(1, float64(j.OutputRows)/float64(j.Probe.Rows)),
	}
	for i, s := range []columnar.Side{j.Build, j.Probe} {
		r.Payload[i] = columnar.Widths(s.Payload)
	}
	r = selector.Describe(r, j.OutputRows, 0)
	return &r
}

// peakBound is the most device memory, in bytes, that a join may use.
func peakBound(j *columnar.Join) int64 {
	return columnar.Bound(j.Build.Bytes()+j.Probe.Bytes(), j.Build.Rows+j.Probe.Rows, j.OutputRows*j.RowBytes())
}

// poison fills the arena before an algorithm's first run.
const poison = 0xa5

// time runs one algorithm and checks the result of the last timed run.
func (b *bench) time(ctx context.Context, c join, a algorithm) (result, error) {
	r := result{Case: c.name, Algorithm: a.name, Chosen: a.chosen}
	j := b.data.Join
	r.bound = peakBound(&j)
	base, size := b.arena.Base()+driver.Ptr(b.data.Mark), min(b.arena.Size()-int64(b.data.Mark), 3*r.bound)
	if err := b.stream.Memset(base, poison, size); err != nil {
		return r, err
	}
	var ms, wall []float64
	for i := range b.repeats + 1 {
		b.arena.Rewind(b.data.Mark)
		o, report, err := a.run(ctx, b.device, b.stream, b.arena, &j)
		if err != nil {
			return r, err
		}
		if i > 0 {
			ms, wall = append(ms, report.MS), append(wall, report.WallMS)
		}
		r.Algorithm = report.Algorithm
		r.Launches, r.Syncs, r.Bytes, r.PeakBytes = report.Launches, report.Syncs, report.Bytes, report.PeakBytes
		r.Predicted = b.predicted(&j, a, report)
		if i == b.repeats {
			got, err := b.data.Checksum(ctx, o)
			if err != nil {
				return r, err
			}
			if got != b.data.Expected {
				r.wrong = fmt.Sprintf("WRONG: %d rows of %d, checksum %x of %x", got.Rows, b.data.Expected.Rows, got.Sum, b.data.Expected.Sum)
			}
		}
	}
	r.runs = slices.Clone(ms)
	slices.Sort(ms)
	slices.Sort(wall)
	r.MS, r.low, r.WallMS = ms[len(ms)/2], ms[0], wall[len(wall)/2]
	if b.phases {
		b.arena.Rewind(b.data.Mark)
		j.Phases = true
		_, report, err := a.run(ctx, b.device, b.stream, b.arena, &j)
		if err != nil {
			return r, err
		}
		r.phases = report.Phases
	}
	return r, nil
}
