package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// scalingWorkers are the numbers of workers that BenchmarkScaling compares.
var scalingWorkers = []int{1, 2, 4, 8, 16}

// BenchmarkScaling joins, and builds tables, with 1 to 16 workers on simulated
// cores. It reports
//
//	cpu-ms       processor time of the process
//	critical-ms  what it would take if each worker had a core of its own
//	cpu-ns/row   processor time by input row
//	cpu/1        processor time compared with that of one worker
//
// each the least of all runs: other programs that share the caches and the memory can
// only add to it.
//
// Rows are 8 bytes of key and 8 of payload. Sparse keys are spread over 64 bits;
// dense ones are 0, 1, 2 ... Memory is reused, as in the daemon.
func BenchmarkScaling(b *testing.B) {
	const million = 1_000_000
	for _, c := range []struct {
		name         string
		probe, build int
		scale        uint64
	}{
		{"10Mx10M/sparse", 10 * million, 10 * million, sparse},
		{"10Mx10M/dense", 10 * million, 10 * million, 1},
		{"100Mx100K/sparse", 100 * million, 100_000, sparse},
		{"100Mx100K/dense", 100 * million, 100_000, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			build, probe := scalingInputs(c.build, c.probe, c.scale)
			defer suite.Unmap(build)
			defer suite.Unmap(probe)
			plan := scalingPlan(probe, build)
			sink := suite.NewDiscarder(suite.Int64Columns(2), 2*16, 1<<15)
			scale(b, c.probe+c.build, func(mem joincore.Memory, opt device.Options) error {
				sink.Rows.Store(0)
				err := suite.Run(b.Context(), cpu.New(), plan, []*joincore.Relation{probe, build}, mem, sink, exec.Options{Device: opt}, nil)
				if n := sink.Rows.Load(); err == nil && n != int64(c.probe) {
					err = fmt.Errorf("%d rows", n)
				}
				return err
			})
		})
	}
	for name, spread := range map[string]uint64{"sparse": sparse, "dense": 1} {
		b.Run("build10M/"+name, func(b *testing.B) {
			build, _ := scalingInputs(10*million, 0, spread)
			defer suite.Unmap(build)
			scale(b, 10*million, func(mem joincore.Memory, opt device.Options) error { return buildTable(b, build, mem, opt) })
		})
	}
	b.Run("100x100", func(b *testing.B) {
		build, probe := scalingInputs(100, 100, sparse)
		plan := scalingPlan(probe, build)
		sink := suite.NewDiscarder(suite.Int64Columns(2), 2*16, 1<<10)
		scale(b, 200, func(mem joincore.Memory, opt device.Options) error {
			return suite.Run(b.Context(), cpu.New(), plan, []*joincore.Relation{probe, build}, mem, sink, exec.Options{Device: opt}, nil)
		})
	})
}

// sparse spreads numbers over 64 bits.
const sparse = 0x9e3779b97f4a7c15

// scale runs f with each number of workers. rows are its input rows.
func scale(b *testing.B, rows int, f func(joincore.Memory, device.Options) error) {
	var one float64
	for _, workers := range scalingWorkers {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			mem := &suite.Reuse{Memory: &suite.Arena{}}
			defer mem.Close()
			cores := &simulatedCores{}
			work := func() (cpu, critical time.Duration) {
				return cores.measure(func() {
					if err := f(mem, device.Options{Streams: workers, Turns: cores}); err != nil {
						b.Fatal(err)
					}
				})
			}
			work() // maps memory
			var cpu, critical time.Duration
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				used, longest := work()
				if i == 0 || used < cpu {
					cpu = used
				}
				if i == 0 || longest < critical {
					critical = longest
				}
			}
			ms := cpu.Seconds() * 1000
			if workers == 1 {
				one = ms
			}
			b.ReportMetric(ms, "cpu-ms")
			b.ReportMetric(critical.Seconds()*1000, "critical-ms")
			b.ReportMetric(ms*1e6/float64(rows), "cpu-ns/row")
			b.ReportMetric(0, "ns/op")
			if one > 0 {
				b.ReportMetric(ms/one, "cpu/1")
			}
		})
	}
}

// scalingInputs are a build side of unique keys in random order, and a probe side
// of keys that each have one partner.
func scalingInputs(build, probe int, scale uint64) (*joincore.Relation, *joincore.Relation) {
	order := rand.New(rand.NewPCG(1, 1)).Perm(build)
	random := rand.New(rand.NewPCG(3, 4))
	left := suite.Int64Relation(build, 2, func(row, c int) uint64 {
		if c == 0 {
			return uint64(order[row]) * scale
		}
		return uint64(row)
	})
	return left, suite.Int64Relation(probe, 2, func(row, c int) uint64 {
		if c == 0 {
			return random.Uint64N(uint64(build)) * scale
		}
		return uint64(row)
	})
}

func scalingPlan(probe, build *joincore.Relation) *joincore.Plan {
	return &joincore.Plan{
		Inputs: []joincore.Input{{Columns: probe.Columns}, {Columns: build.Columns}},
		Root: &joincore.Join{
			Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
			Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 0}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
		},
		Output: []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}},
	}
}

// buildTable makes one table of a relation's first column.
func buildTable(b *testing.B, r *joincore.Relation, mem joincore.Memory, opt device.Options) error {
	opened, err := cpu.New().Open(mem, opt)
	if err != nil {
		return err
	}
	defer opened.Close()
	d := opened.(device.Chunked)
	in, err := d.Import(0, r)
	if err != nil {
		return err
	}
	key, _ := device.Keys([]joincore.KeyPair{{Class: joincore.KeyInt}}, func(joincore.ColumnRef) joincore.Column { return r.Columns[0] })
	table, err := d.Build(b.Context(), in, &device.Match{Build: key, Probe: key, Emit: device.Pairs, ProbeRows: r.Rows()})
	if err == nil {
		table.Release()
	}
	return err
}
