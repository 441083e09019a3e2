package cpu_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// groupSink is a sink that compares groups with those that it expects: key,
// count, sum and count of distinct values.
type groupSink struct {
	*suite.Discarder
	lock sync.Mutex
	want map[int64][3]int64
	bad  error
}

func (s *groupSink) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	s.lock.Lock()
	for r := range rows {
		word := func(column, width int) int64 {
			return int64(binary.LittleEndian.Uint64(b.Columns[column].Values[r*width:]))
		}
		key := word(0, 8)
		got := [3]int64{word(1, 8), word(2, 16), word(3, 8)}
		if want, ok := s.want[key]; (!ok || got != want) && s.bad == nil {
			s.bad = fmt.Errorf("group %d has count, sum and distinct values %v, want %v", key, got, want)
		}
		delete(s.want, key)
	}
	s.lock.Unlock()
	return s.Discarder.Emit(ctx, b, rows, heap)
}

// TestGroups groups rows of few and of many groups, of equal and of very
// different sizes, on one worker and on several.
func TestGroups(t *testing.T) {
	n := 1 << 18
	if testing.Short() || suite.Race {
		n = 1 << 16
	}
	for _, groups := range []int{1, 10, 10_000, 100_000, n} {
		for _, skewed := range []bool{false, true} {
			relation, want := groupedRows(n, groups, skewed)
			for _, streams := range []int{1, 2, 16} {
				name := fmt.Sprintf("%d groups, skewed %v, %d streams", groups, skewed, streams)
				plan := groupPlanOf(relation)
				sink := &groupSink{Discarder: suite.NewDiscarder(suite.Checked(t, plan).Schema()[1], 2, 1<<10), want: map[int64][3]int64{}}
				for k, v := range want {
					sink.want[k] = v
				}
				mem := &suite.Arena{}
				var stats joincore.Stats
				opt := exec.Options{Device: device.Options{Streams: streams}}
				if err := suite.Run(t.Context(), cpu.New(), plan, []*joincore.Relation{relation}, mem, sink, opt, &stats); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if sink.bad != nil || len(sink.want) > 0 {
					t.Fatalf("%s: %v; %d groups are missing", name, sink.bad, len(sink.want))
				}
				if mem.InUse() != 0 {
					t.Fatalf("%s: %d bytes not freed", name, mem.InUse())
				}
				a := stats.Aggregates[0]
				// Of several workers, some may not know the group of a distinct value.
				if strategy := map[bool]string{false: "hash", true: "partitioned"}[len(want) > 1<<16]; streams == 1 && a.Strategy != strategy {
					t.Errorf("%s: strategy %q, want %q", name, a.Strategy, strategy)
				}
				if a.RowsIn != int64(n) || a.Groups != int64(len(want)) || a.Bytes == 0 {
					t.Errorf("%s: %+v", name, a)
				}
				if limit := exec.Estimate(suite.Checked(t, plan), opt); stats.Peak > limit {
					t.Errorf("%s: %d bytes in use, %d were estimated", name, stats.Peak, limit)
				}
			}
		}
	}
}

// groupedRows makes n rows of key and value. Where they are skewed, half of the
// rows are of one group, which is met late.
func groupedRows(n, groups int, skewed bool) (*joincore.Relation, map[int64][3]int64) {
	r := rand.New(rand.NewPCG(uint64(groups), 1))
	keys, values := make([]int64, n), make([]int64, n)
	want := map[int64][3]int64{}
	distinct := map[[2]int64]bool{}
	for i := range keys {
		k := i % groups
		if skewed && i > n/4 && r.IntN(3) < 2 {
			k = groups - 1
		}
		keys[i], values[i] = int64(k)*0x5851f42d4c957f2d, int64(r.IntN(50)-20)
		w := want[keys[i]]
		if pair := [2]int64{keys[i], values[i]}; !distinct[pair] {
			distinct[pair] = true
			w[2]++
		}
		want[keys[i]] = [3]int64{w[0] + 1, w[1] + values[i], w[2]}
	}
	return suite.Int64Relation(n, 2, func(row, c int) uint64 {
		if c == 0 {
			return uint64(keys[row])
		}
		return uint64(values[row])
	}), want
}

func groupPlanOf(relation *joincore.Relation) *joincore.Plan {
	value := joincore.ColumnRef{Column: 1}
	plan := &joincore.Plan{
		Inputs: []joincore.Input{{Columns: relation.Columns, Rows: float64(relation.Rows())}},
		Root: &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Functions: []joincore.Function{
			{Kind: joincore.Count}, {Kind: joincore.Sum, Arg: value}, {Kind: joincore.Count, Arg: value, Distinct: true},
		}},
	}
	for i := range 4 {
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
	}
	return plan
}

// TestSumOverflow: sums of 8-byte values never overflow, sums of 16-byte ones
// that leave 128 bits are errors, as are those of squares.
func TestSumOverflow(t *testing.T) {
	extremes := suite.Int64Relation(1000, 1, func(row, _ int) uint64 {
		if row%2 == 0 {
			return math.MaxInt64
		}
		return 1 << 62
	})
	large := joincore.Value(joincore.ColumnRef{})
	large = &joincore.Arithmetic{Op: joincore.Multiply, Width: 16, Left: large, Right: large}
	for _, c := range []struct {
		name string
		f    joincore.Function
		want error
	}{
		{"sum of 8 bytes", joincore.Function{Kind: joincore.Sum, Arg: joincore.ColumnRef{}}, nil},
		{"sum of 16 bytes", joincore.Function{Kind: joincore.Sum, Arg: large}, joincore.ErrArithmetic},
		{"squares of 16 bytes", joincore.Function{Kind: joincore.SumOfSquares, Arg: large}, joincore.ErrArithmetic},
	} {
		for _, streams := range []int{1, 3} {
			plan := &joincore.Plan{
				Inputs: []joincore.Input{{Columns: extremes.Columns}},
				Root:   &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Functions: []joincore.Function{c.f}},
				Output: []joincore.ColumnRef{{Input: 1}},
			}
			opt := exec.Options{Device: device.Options{Streams: streams, ChunkRows: 8}}
			mem := &suite.Arena{}
			if c.want == nil {
				suite.Check(t, c.name, cpu.New(), plan, []*joincore.Relation{extremes}, 1, opt)
				continue
			}
			err := suite.Run(t.Context(), cpu.New(), plan, []*joincore.Relation{extremes}, mem, suite.NewCollector(plan, 1), opt, nil)
			if !errors.Is(err, c.want) || mem.InUse() != 0 {
				t.Errorf("%s: %v, %d bytes not freed", c.name, err, mem.InUse())
			}
		}
	}
}

// TestGroupingEnds: whichever allocation is the first to fail, or whenever the
// context ends, nothing is left behind.
func TestGroupingEnds(t *testing.T) {
	relation, _ := groupedRows(20_000, 9000, true)
	plan := groupPlanOf(relation)
	opt := exec.Options{Device: device.Options{Streams: 2, Groups: 500}}
	aggregate := func(ctx context.Context, mem *suite.Arena) error {
		return suite.Run(ctx, cpu.New(), plan, []*joincore.Relation{relation}, mem, suite.NewDiscarder(suite.Checked(t, plan).Schema()[1], 2, 1<<10), opt, nil)
	}
	step := 1
	failed := 0
	for failAt := 1; ; failAt += step {
		mem := &suite.Arena{FailAt: failAt}
		err := aggregate(t.Context(), mem)
		if mem.InUse() != 0 {
			t.Fatalf("allocation %d: %d bytes not freed", failAt, mem.InUse())
		}
		if err == nil {
			break
		}
		if !errors.Is(err, joincore.ErrBudget) {
			t.Fatalf("allocation %d: %v", failAt, err)
		}
		failed++
		step = 1 + failAt/10
	}
	if failed < 10 {
		t.Fatalf("only %d allocations failed", failed)
	}
	cancelled := 0
	for after := time.Duration(0); after < 5*time.Millisecond; after += 100 * time.Microsecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		mem := &suite.Arena{}
		err := aggregate(ctx, mem)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) || mem.InUse() != 0 {
			t.Fatalf("cancelled after %v: %v, %d bytes not freed", after, err, mem.InUse())
		}
		if err != nil {
			cancelled++
		}
	}
	if cancelled == 0 {
		t.Error("no grouping was cancelled")
	}
}
