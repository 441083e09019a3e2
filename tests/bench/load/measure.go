package load

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"gpujoin/tests/measure"
)

// result is what was measured in one mode.
type result struct {
	Mode       string
	PerSecond  float64 // statements
	Statements map[string]summary
	Fallbacks  map[string]int // by reason
}

// results returns the mode as results of a document: all statements, and each kind.
func (r *result) results() []measure.Result {
	all := measure.Result{Name: "all statements", Engine: r.Mode, Values: map[string]float64{"statements_per_s": r.PerSecond}}
	for reason, n := range r.Fallbacks {
		all.Values["fallbacks: "+measure.OneLine(reason)] = float64(n)
	}
	list := []measure.Result{all}
	for _, kind := range slices.Sorted(maps.Keys(r.Statements)) {
		s := r.Statements[kind]
		list = append(list, measure.Result{Name: kind, Engine: r.Mode, Values: map[string]float64{
			"count": float64(s.Count), "median_ms": s.MedianMs, "p95_ms": s.SlowestMs, "offloaded": float64(s.Offloaded)}})
	}
	return list
}

// summary describes the statements of one kind.
type summary struct {
	Count     int
	MedianMs  float64
	SlowestMs float64 // 95th percentile
	Offloaded int     // without those that fell back
}

// sample is one statement.
type sample struct {
	kind      string
	took      time.Duration
	offloaded bool
	fallback  string
}

// measure runs all clients in one mode.
func (b *bench) measure(ctx context.Context, m mode) (*result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var samples []sample
	var clients sync.WaitGroup
	start := time.Now()
	for i := range b.clients {
		clients.Go(func() {
			own, err := b.client(ctx, m, start.Add(b.time), rand.New(rand.NewPCG(b.seed, uint64(i))))
			if err != nil {
				cancel(err)
			}
			mu.Lock()
			defer mu.Unlock()
			samples = append(samples, own...)
		})
	}
	clients.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return summarise(m.name, samples, time.Since(start)), nil
}

// client works until the end and returns its samples. All modes run the same
// statements in the same order.
func (b *bench) client(ctx context.Context, m mode, end time.Time, r *rand.Rand) (samples []sample, err error) {
	s, err := b.cluster.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Exec(ctx, "set max_parallel_workers_per_gather = 0; set gpujoin.debug_force = "+m.force); err != nil {
		return nil, err
	}
	for time.Now().Before(end) {
		draw := r.IntN(100)
		transaction, n := bank.Transaction(r), r.IntN(len(joins))
		if draw < shortShare {
			start := time.Now()
			if err := s.Exec(ctx, transaction); err != nil {
				return nil, err
			}
			samples = append(samples, sample{kind: short, took: time.Since(start)})
			continue
		}
		enabled := "off"
		if n < m.enabled {
			enabled = "on"
		}
		if err := s.Exec(ctx, "set gpujoin.enabled = "+enabled); err != nil {
			return nil, err
		}
		start := time.Now()
		plan, err := s.Explain(ctx, "analyze, timing off", joins[n].sql)
		if err != nil {
			return nil, err
		}
		done := sample{kind: joins[n].name, took: time.Since(start)}
		for _, n := range plan.Jobs() {
			done.fallback = n.Text("Fallback")
			done.offloaded = done.fallback == ""
		}
		samples = append(samples, done)
	}
	return samples, nil
}

func summarise(mode string, samples []sample, took time.Duration) *result {
	r := &result{
		Mode: mode, PerSecond: measure.Round(float64(len(samples))/took.Seconds(), 1),
		Statements: map[string]summary{}, Fallbacks: map[string]int{},
	}
	times := map[string][]float64{}
	for _, s := range samples {
		times[s.kind] = append(times[s.kind], measure.Ms(s.took))
		sum := r.Statements[s.kind]
		sum.Count++
		if s.offloaded {
			sum.Offloaded++
		}
		r.Statements[s.kind] = sum
		if s.fallback != "" {
			r.Fallbacks[s.fallback]++
		}
	}
	for kind, ms := range times {
		slices.Sort(ms)
		sum := r.Statements[kind]
		sum.MedianMs, sum.SlowestMs = measure.Median(ms), ms[len(ms)*95/100]
		r.Statements[kind] = sum
	}
	return r
}

// print writes the results as tables.
func print(w io.Writer, results []*result) error {
	kinds := []string{short}
	for _, j := range joins {
		kinds = append(kinds, j.name)
	}
	rows := []string{"mode\tstatement\tcount\toffloaded\tmedian ms\t95 % ms"}
	for _, r := range results {
		for _, kind := range kinds {
			s := r.Statements[kind]
			rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%d\t%.1f\t%.1f", r.Mode, kind, s.Count, s.Offloaded, s.MedianMs, s.SlowestMs))
		}
	}
	if err := measure.Table(w, rows...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, r := range results {
		fmt.Fprintf(w, "%s: %.1f statements a second\n", r.Mode, r.PerSecond)
		for reason, n := range r.Fallbacks {
			fmt.Fprintf(w, "  %d fell back: %s\n", n, reason)
		}
	}
	return nil
}
