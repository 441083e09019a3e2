package cpu

import (
	"cmp"
	"math"
	"slices"

	"gpujoin/joincore"
)

// Comparisons of one value with constants, and AND, OR and NOT of them, all say that the value
// is in a set of integers. So "between", conditions that treat a number of its own as larger
// than all others (NaN), and lists become one pass over a column.

// intRange is the integers from low to high, both included.
type intRange struct{ low, high int64 }

// intRanges is a set of integers of up to 16 bytes: those of 8 bytes in the ranges, which are
// in order and do not touch each other, and all that are less or greater than these.
type intRanges struct {
	list        []intRange
	less, above bool
}

// mostRanges is the most ranges for which passes over a column are worth it: each takes 0.1
// to 0.2 ns a row, and a set of any integers 2 ns.
const mostRanges = 8

// rangesOf returns the integers x for which "x op y" is true.
func rangesOf(op joincore.CompareOp, y int64) intRanges {
	switch op {
	case joincore.NotEqual:
		return rangesOf(joincore.Equal, y).complement()
	case joincore.GreaterEqual:
		return rangesOf(joincore.Less, y).complement()
	case joincore.Greater:
		return rangesOf(joincore.LessEqual, y).complement()
	case joincore.Equal:
		return intRanges{list: []intRange{{y, y}}}
	case joincore.LessEqual:
		return intRanges{list: []intRange{{math.MinInt64, y}}, less: true}
	}
	if y == math.MinInt64 {
		return intRanges{less: true}
	}
	return intRanges{list: []intRange{{math.MinInt64, y - 1}}, less: true}
}

// rangesOfList returns the integers of a list, or false if they are too many ranges.
func rangesOfList(list []int64) (intRanges, bool) {
	if len(list) > bitmapBits {
		return intRanges{}, false
	}
	var all []intRange
	for _, x := range list {
		all = append(all, intRange{x, x})
	}
	s := intRanges{list: joined(all)}
	return s, len(s.list) <= mostRanges
}

// joined returns ranges in order, of which those that touch are one.
func joined(all []intRange) []intRange {
	slices.SortFunc(all, func(a, b intRange) int { return cmp.Compare(a.low, b.low) })
	var out []intRange
	for _, r := range all {
		if n := len(out); n > 0 && (out[n-1].high == math.MaxInt64 || r.low <= out[n-1].high+1) {
			out[n-1].high = max(out[n-1].high, r.high)
		} else {
			out = append(out, r)
		}
	}
	return out
}

func (s intRanges) complement() intRanges {
	out := intRanges{less: !s.less, above: !s.above}
	from := int64(math.MinInt64)
	for _, r := range s.list {
		if r.low > from {
			out.list = append(out.list, intRange{from, r.low - 1})
		}
		if r.high == math.MaxInt64 {
			return out
		}
		from = r.high + 1
	}
	out.list = append(out.list, intRange{from, math.MaxInt64})
	return out
}

func (s intRanges) union(o intRanges) intRanges {
	return intRanges{joined(append(slices.Clone(s.list), o.list...)), s.less || o.less, s.above || o.above}
}

func (s intRanges) intersection(o intRanges) intRanges {
	return s.complement().union(o.complement()).complement()
}

// has reports whether an integer of 16 bytes is in the set.
func (s *intRanges) has(low, high int64) bool {
	if high != low>>63 {
		return high < 0 && s.less || high >= 0 && s.above
	}
	for _, r := range s.list {
		if low >= r.low && low <= r.high {
			return true
		}
	}
	return false
}

// preimage returns a column and the integers in it for which a value is in the set, if that is
// all there is to the value: the column, or CASE with constants for some of its integers, as
// for a float whose -0 equals 0. Where the column is NULL, so is the value.
func preimage(v value, set intRanges) (*columnValue, intRanges, bool) {
	switch v := v.(type) {
	case *columnValue:
		return v, set, true
	case *caseValue:
		column, of, ok := preimage(v.other, set)
		for _, w := range slices.Backward(v.whens) {
			some, isRanges := w.condition.(*inRanges)
			then, isConstant := w.then.(*constant)
			if !ok || !isRanges || !isConstant || then.null || then.text {
				return nil, intRanges{}, false
			}
			if ref, isColumn := some.column(); !isColumn || ref != column.ref {
				return nil, intRanges{}, false
			}
			of = of.intersection(some.set.complement())
			if set.has(then.n, then.n>>63) {
				of = of.union(some.set)
			}
		}
		return column, of, ok
	}
	return nil, intRanges{}, false
}

// inRanges says whether an integer is in a set. The truth of a NULL is unknown.
type inRanges struct {
	arg  value
	set  intRanges
	rest []intRange // of the set or of its complement, whichever has fewer
	flip uint64     // all ones: it is the set's
}

func newInRanges(arg value, set intRanges) *inRanges {
	c := &inRanges{arg: arg, set: set, rest: set.list, flip: ^uint64(0)}
	if other := set.complement(); len(other.list) < len(set.list) {
		c.rest, c.flip = other.list, 0
	}
	return c
}

// column returns the column that is compared, or false if it is another value.
func (c *inRanges) column() (joincore.ColumnRef, bool) {
	if v, ok := c.arg.(*columnValue); ok {
		return v.ref, true
	}
	return joincore.ColumnRef{}, false
}

// merged makes one argument of AND or OR of all that compare the same column, as long as
// that is few ranges.
func merged(args []term, all bool) []term {
	var out []term
	at := map[joincore.ColumnRef]int{}
	for _, a := range args {
		c, ok := a.condition.(*inRanges)
		if !ok {
			out = append(out, a)
			continue
		}
		ref, ok := c.column()
		before, known := at[ref]
		if !ok || !known {
			if ok {
				at[ref] = len(out)
			}
			out = append(out, a)
			continue
		}
		set := out[before].condition.(*inRanges).set
		if all {
			set = set.intersection(c.set)
		} else {
			set = set.union(c.set)
		}
		if one := newInRanges(c.arg, set); len(one.rest) <= mostRanges {
			out[before].condition = one
		} else {
			out = append(out, a)
		}
	}
	return out
}

func (c *inRanges) eval(st *stream, r *rows, out *truths) error {
	if ref, ok := c.column(); ok {
		col, s := r.locate(ref, st.dev.inputs)
		if col != nil && s.pos == nil && (col.width == 4 || col.width == 8) {
			segment, from := s.segment(), int(s.first&s.space.mask())
			if col.width == 4 {
				evalRanges(c, out, col.v32[segment][from:from+r.n], math.MinInt32, math.MaxInt32)
			} else {
				evalRanges(c, out, col.v64[segment][from:from+r.n], math.MinInt64, math.MaxInt64)
			}
			out.unknownWhereMissing(st, col, s, r.n)
			return nil
		}
	}
	v := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.arg.eval(st, r, v); err != nil {
		return err
	}
	switch {
	case v.all:
		out.set(isUnknown)
		return nil
	case v.wide:
		maskOf(out.yes, v.n, func(i int) bool { return c.set.has(v.lo[i], v.hi[i]) })
	default:
		evalRanges(c, out, view[uint64](v.lo[:v.n]), math.MinInt64, math.MaxInt64)
	}
	out.unknownWhereNull(v)
	return nil
}

// evalRanges sets which integers of a width with these limits are in the set.
func evalRanges[T storedWord](c *inRanges, out *truths, x []T, least, most int64) {
	first := true
	for _, r := range c.rest {
		if r.low > most || r.high < least {
			continue
		}
		low, high := T(max(r.low, least)), T(min(r.high, most))
		if first {
			outsideRange(out.yes, x, low, high)
			first = false
			continue
		}
		outsideRange(out.maybe, x, low, high)
		for w := range out.yes {
			out.yes[w] &= out.maybe[w]
		}
	}
	if first {
		out.set(isTrue)
	}
	for w := range out.yes {
		out.yes[w] ^= c.flip
	}
}
