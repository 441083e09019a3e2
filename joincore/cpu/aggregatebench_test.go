package cpu_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// BenchmarkAggregate groups 8 M rows by an int8 key, and computes a number of
// sums. Groups are equally frequent.
func BenchmarkAggregate(b *testing.B) {
	const n = 8 << 20
	for _, groups := range []int{1, 4, 1 << 10, 1 << 14, 1 << 15, 1 << 16, 1 << 20, n} {
		for _, sums := range []int{1, 8} {
			random := rand.New(rand.NewPCG(1, 2))
			relation := suite.Int64Relation(n, 2, func(row, c int) uint64 {
				if c == 0 {
					return uint64(random.IntN(groups)) * 0x9e3779b97f4a7c15
				}
				return uint64(row)
			})
			for _, streams := range []int{1, 2} {
				b.Run(fmt.Sprintf("groups=%d/sums=%d/streams=%d", groups, sums, streams), func(b *testing.B) {
					benchAggregate(b, relation, sums, streams)
				})
			}
		}
	}
}

// recycler is a Memory that keeps what is freed, as the daemon does: what a
// page fault costs is not what is measured.
type recycler struct {
	suite.Arena
	lock sync.Mutex
	free map[int64][][]byte
}

func (r *recycler) Alloc(n int64) ([]byte, error) {
	class := int64(1) << bits.Len64(uint64(max(n, 4096)-1))
	r.lock.Lock()
	defer r.lock.Unlock()
	if list := r.free[class]; len(list) > 0 {
		r.free[class] = list[:len(list)-1]
		return list[len(list)-1][:n:class], nil
	}
	b, err := r.Arena.Alloc(class)
	return b[:n:class], err
}

func (r *recycler) Free(b []byte) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.free == nil {
		r.free = map[int64][][]byte{}
	}
	r.free[int64(cap(b))] = append(r.free[int64(cap(b))], b[:cap(b)])
}

func benchAggregate(b *testing.B, relation *joincore.Relation, sums, streams int) {
	a := &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}}
	for i := range sums {
		f := joincore.Function{Kind: joincore.Sum, Arg: joincore.ColumnRef{Column: 1}}
		if i%2 == 1 {
			f.Arg = joincore.ColumnRef{Column: 0}
		}
		a.Functions = append(a.Functions, f)
	}
	benchAggregation(b, relation, a, streams)
}

// benchAggregation groups a relation.
func benchAggregation(b *testing.B, relation *joincore.Relation, a *joincore.Aggregate, streams int) {
	plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: relation.Columns}}, Root: a}
	benchGroups(b, plan, []*joincore.Relation{relation}, benchOptions(streams, 0))
}

// benchOptions are those of a number of workers, and of an algorithm for all joins; 0: the
// one that is predicted to be the fastest.
func benchOptions(streams int, algorithm joincore.Algorithm) exec.Options {
	return exec.Options{
		Device: device.Options{Streams: streams},
		Decide: func(_ int, d costmodel.Decision) costmodel.Decision {
			if algorithm != 0 {
				d.Algorithm = algorithm
			}
			return d
		},
	}
}

// benchGroups reports what a plan takes whose result is that of an aggregation: cpu-ns/row
// is what all cores used together for each row of the first input. Both are the least of all
// runs: other programs that share the caches and the memory can only add to it.
func benchGroups(b *testing.B, plan *joincore.Plan, inputs []*joincore.Relation, opt exec.Options) {
	id := len(inputs)
	var output []joincore.Column // that which a discarder takes
	for i, c := range suite.Checked(b, plan).Schema()[id] {
		if c.Kind == joincore.Fixed {
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: id, Column: i})
			output = append(output, c)
		}
	}
	sink := suite.NewDiscarder(output, 4, 1<<14)
	var stats joincore.Stats
	mem := &recycler{}
	aggregate := func() {
		if err := suite.Run(b.Context(), cpu.New(), plan, inputs, mem, sink, opt, &stats); err != nil {
			b.Fatal(err)
		}
	}
	aggregate()
	rows := float64(inputs[0].Rows())
	cpu, wall := math.Inf(1), math.Inf(1)
	b.ResetTimer()
	for range b.N {
		used, start := cpuTime(), time.Now()
		aggregate()
		cpu = min(cpu, float64(cpuTime()-used)/rows)
		wall = min(wall, float64(time.Since(start))/rows)
	}
	b.ReportMetric(cpu, "cpu-ns/row")
	b.ReportMetric(wall, "ns/row")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(stats.Peak)/(1<<20), "MB-peak")
}
