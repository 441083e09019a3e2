package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// dimension has the first n multiples of scale in random order.
func dimension(n int, scale uint64) *joincore.Relation {
	order := rand.New(rand.NewPCG(1, 1)).Perm(n)
	return suite.Int64Relation(n, 2, func(row, c int) uint64 {
		if c == 0 {
			return uint64(order[row]) * scale
		}
		return uint64(row)
	})
}

var benchCache = map[string]*joincore.Relation{}

func cached(name string, make func() *joincore.Relation) *joincore.Relation {
	if benchCache[name] == nil {
		benchCache[name] = make()
	}
	return benchCache[name]
}

const benchRows = 10_000_000

// BenchmarkJoin joins 10 M rows of key and payload with a side of unique
// keys, and writes both payloads to the sink's batches. Dense keys are 0, 1,
// 2 ...; sparse ones are spread over 64 bits.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{1000, 1_000_000, 10_000_000} {
		for name, scale := range map[string]uint64{"dense": 1, "sparse": 0x9e3779b97f4a7c15} {
			for _, a := range append([]joincore.Algorithm{0}, algorithms...) {
				algorithm := "chosen"
				if a != 0 {
					algorithm = a.String()
				}
				b.Run(fmt.Sprintf("10Mx%d/%s/%s", n, name, algorithm), func(b *testing.B) {
					plan, inputs := benchJoin(n, name, scale)
					benchPlan(b, plan, inputs, a, benchRows)
				})
			}
		}
	}
}

func benchJoin(n int, name string, scale uint64) (*joincore.Plan, []*joincore.Relation) {
	build := cached(fmt.Sprint("dim", name, n), func() *joincore.Relation { return dimension(n, scale) })
	probe := cached(fmt.Sprint("fact", name, n), func() *joincore.Relation {
		random := rand.New(rand.NewPCG(3, 4))
		return suite.Int64Relation(benchRows, 2, func(row, c int) uint64 {
			if c == 0 {
				return uint64(random.IntN(n)) * scale
			}
			return uint64(row)
		})
	})
	return &joincore.Plan{
		Inputs: []joincore.Input{{Columns: probe.Columns}, {Columns: build.Columns}},
		Root: &joincore.Join{
			Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
			Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 0}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
		},
		Output: []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}},
	}, []*joincore.Relation{probe, build}
}

// BenchmarkStar joins 10 M rows with dimensions of 1 M, 100 K and 1 K.
func BenchmarkStar(b *testing.B) {
	sizes := []int{1_000_000, 100_000, 1000}
	fact := cached("star", func() *joincore.Relation {
		random := rand.New(rand.NewPCG(3, 4))
		return suite.Int64Relation(benchRows, 4, func(row, c int) uint64 {
			if c < 3 {
				return uint64(random.IntN(sizes[c]))
			}
			return uint64(row)
		})
	})
	inputs := []*joincore.Relation{fact}
	plan := &joincore.Plan{
		Inputs: []joincore.Input{{Columns: fact.Columns}},
		Root:   &joincore.Scan{Input: 0}, Output: []joincore.ColumnRef{{Input: 0, Column: 3}},
	}
	for i, n := range sizes {
		dim := cached(fmt.Sprint("dimdense", n), func() *joincore.Relation { return dimension(n, 1) })
		inputs = append(inputs, dim)
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: dim.Columns})
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: i + 1, Column: 1})
		plan.Root = &joincore.Join{
			Kind: joincore.Inner, Left: plan.Root, Right: &joincore.Scan{Input: i + 1},
			Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 0, Column: i}, Right: joincore.ColumnRef{Input: i + 1}, Class: joincore.KeyInt}},
		}
	}
	benchPlan(b, plan, inputs, 0, benchRows)
}

func benchPlan(b *testing.B, plan *joincore.Plan, inputs []*joincore.Relation, a joincore.Algorithm, rows int64) {
	mem := &suite.Arena{}
	sink := suite.NewDiscarder(suite.Int64Columns(len(plan.Output)), 16, 1<<17)
	opt := exec.Options{Decide: func(_ int, d costmodel.Decision) costmodel.Decision {
		d.Algorithm = a
		return d
	}}
	var stats joincore.Stats
	cpuStart := cpuSeconds()
	b.ResetTimer()
	for range b.N {
		sink.Rows.Store(0)
		if err := suite.Run(context.Background(), cpu.New(), plan, inputs, mem, sink, opt, &stats); err != nil {
			b.Fatal(err)
		}
		if n := sink.Rows.Load(); n != rows {
			b.Fatalf("%d rows, want %d", n, rows)
		}
	}
	b.ReportMetric((cpuSeconds()-cpuStart)*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(stats.Peak)/1e6, "MB-peak")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/op")
}

// BenchmarkCalibrate prints the machine's rates.
func BenchmarkCalibrate(b *testing.B) {
	for range b.N {
		r, share, err := exec.Calibrate(context.Background(), cpu.New(), &suite.Arena{})
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%+.3v, with %.0f %% of the time of all cores", r, 100*share)
	}
}

// cpuSeconds is what this process has used of all cores: on a busy machine it
// says more than the clock.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
