package cpu

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

// TestIntRanges compares sets of integers with what they are made of.
func TestIntRanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	points := []int64{math.MinInt64, math.MinInt64 + 1, -2, -1, 0, 1, 2, 5, math.MaxInt64 - 1, math.MaxInt64}
	type set struct {
		intRanges
		has func(low, high int64) bool
	}
	sets := []set{}
	for op := joincore.Equal; op <= joincore.GreaterEqual; op++ {
		for _, y := range points {
			sets = append(sets, set{rangesOf(op, y), func(low, high int64) bool {
				order := 0
				switch {
				case high != low>>63:
					order = 1 - int(uint64(high)>>63)*2
				case low != y:
					order = 1 - int(bit(low < y))*2
				}
				return comparisonOf(op).of(order)
			}})
		}
	}
	for range 500 {
		a, b := sets[random.IntN(len(sets))], sets[random.IntN(len(sets))]
		switch random.IntN(3) {
		case 0:
			sets = append(sets, set{a.complement(), func(l, h int64) bool { return !a.has(l, h) }})
		case 1:
			sets = append(sets, set{a.union(b.intRanges), func(l, h int64) bool { return a.has(l, h) || b.has(l, h) }})
		default:
			sets = append(sets, set{a.intersection(b.intRanges), func(l, h int64) bool { return a.has(l, h) && b.has(l, h) }})
		}
	}
	for i, s := range sets {
		for _, low := range points {
			for _, high := range []int64{low >> 63, -1, 0, 7, math.MinInt64} {
				if got := s.intRanges.has(low, high); got != s.has(low, high) {
					t.Fatalf("set %d, %+v: %d, %d: %v", i, s.intRanges, low, high, got)
				}
			}
		}
		for k, r := range s.list {
			if r.low > r.high || k > 0 && (s.list[k-1].high == math.MaxInt64 || r.low <= s.list[k-1].high+1) {
				t.Fatalf("set %d is not in order: %+v", i, s.list)
			}
		}
	}
}

// TestOneColumnIsOneSet: what conditions say of a column of numbers, of which the least stands
// for NaN, becomes one range.
func TestOneColumnIsOneSet(t *testing.T) {
	compare := func(op joincore.CompareOp, y int64) joincore.Expr {
		return &joincore.Compare{Op: op, Left: joincore.ColumnRef{}, Right: joincore.Int(y)}
	}
	notANumber := compare(joincore.Equal, math.MinInt64)
	between := &joincore.And{Args: []joincore.Expr{
		&joincore.Not{Arg: &joincore.And{Args: []joincore.Expr{&joincore.Not{Arg: notANumber}, compare(joincore.Less, 5)}}},
		&joincore.Not{Arg: &joincore.Or{Args: []joincore.Expr{notANumber, compare(joincore.Greater, 7)}}},
	}}
	c, ok := compile(between, nil).condition.(*inRanges)
	if !ok || len(c.set.list) != 1 || c.set.list[0] != (intRange{5, 7}) || c.set.less || c.set.above {
		t.Errorf("%+v", c)
	}
}

// TestPreimage: CASE with constants for some integers of a column is compared as the column.
func TestPreimage(t *testing.T) {
	column := joincore.ColumnRef{}
	compare := func(op joincore.CompareOp, left joincore.Value, y int64) joincore.Expr {
		return &joincore.Compare{Op: op, Left: left, Right: joincore.Int(y)}
	}
	float := &joincore.Case{Else: column, Whens: []joincore.When{
		{Condition: compare(joincore.Equal, column, math.MinInt64), Then: joincore.Int(0)},
		{Condition: compare(joincore.Less, column, -7), Then: joincore.Int(-8)},
	}}
	value := func(x int64) int64 {
		switch {
		case x == math.MinInt64:
			return 0
		case x < -7:
			return -8
		}
		return x
	}
	for op := joincore.Equal; op <= joincore.GreaterEqual; op++ {
		for _, y := range []int64{math.MinInt64, -9, -8, -7, -1, 0, 1, math.MaxInt64} {
			c := compile(compare(op, float, y), nil).condition.(*inRanges)
			if _, ok := c.column(); !ok {
				t.Fatalf("a CASE is compared with %d", y)
			}
			for _, x := range []int64{math.MinInt64, math.MinInt64 + 1, -9, -8, -7, -6, 0, 1, 2, math.MaxInt64} {
				if got, want := c.set.has(x, x>>63), comparisonOf(op).of(cmp.Compare(value(x), y)); got != want {
					t.Errorf("%d, operation %d, %d: %v", x, op, y, got)
				}
			}
		}
	}
	other := &joincore.Case{Else: joincore.ColumnRef{Column: 1}, Whens: float.Whens}
	if _, ok := compile(compare(joincore.Less, other, 5), nil).condition.(*inRanges).column(); ok {
		t.Error("a CASE of two columns is compared as one of them")
	}
}
