package cpu

import (
	"bytes"
	"cmp"

	"gpujoin/joincore"
)

// newCompare compiles a comparison of integers or of bytes. It puts a constant on the right.
func newCompare(op joincore.CompareOp, left, right value) condition {
	if _, ok := left.(*constant); ok {
		op, left, right = op.Mirrored(), right, left
	}
	if k, ok := right.(*constant); ok && !k.null {
		if k.text {
			return &textCondition{arg: left, test: compareText{comparisonOf(op), k.bytes}}
		}
		set := rangesOf(op, k.n)
		if column, of, ok := preimage(left, set); ok && len(of.list) <= mostRanges {
			return newInRanges(column, of)
		}
		return newInRanges(left, set)
	}
	return &compare{comparisonOf(op), left, right}
}

// compare compares two values, of which neither is a constant, or one is NULL.
type compare struct {
	op          comparison
	left, right value
}

// comparison is a comparison made of two: whether to compare for equal, less,
// or less or equal, and whether the result is the opposite.
type comparison struct {
	op   joincore.CompareOp // Equal, Less or LessEqual
	flip bool               // the opposite
}

func comparisonOf(op joincore.CompareOp) comparison {
	switch op {
	case joincore.NotEqual:
		return comparison{joincore.Equal, true}
	case joincore.GreaterEqual:
		return comparison{joincore.Less, true}
	case joincore.Greater:
		return comparison{joincore.LessEqual, true}
	}
	return comparison{op, false}
}

// of returns the result for sides that are ordered as in cmp.
func (c comparison) of(order int) bool {
	switch c.op {
	case joincore.Equal:
		return order == 0 != c.flip
	case joincore.Less:
		return order < 0 != c.flip
	}
	return order <= 0 != c.flip
}

func (c *compare) eval(st *stream, r *rows, out *truths) error {
	if c.evalColumns(st, r, out) {
		return nil
	}
	a, b := st.takeVector(), st.takeVector()
	defer st.drop(2, 0, 0)
	if err := c.left.eval(st, r, a); err != nil {
		return err
	}
	if err := c.right.eval(st, r, b); err != nil {
		return err
	}
	switch {
	case a.all || b.all:
		out.set(isUnknown)
		return nil
	case a.text:
		maskOf(out.yes, a.n, func(i int) bool { return c.op.of(bytes.Compare(a.bytes[i], b.bytes[i])) })
	case a.wide || b.wide:
		a.widen()
		b.widen()
		maskOf(out.yes, a.n, func(i int) bool {
			return c.op.of(cmp.Or(cmp.Compare(a.hi[i], b.hi[i]), cmp.Compare(uint64(a.lo[i]), uint64(b.lo[i]))))
		})
	default:
		compareColumns(c.op, out.yes, view[uint64](a.lo[:a.n]), view[uint64](b.lo[:a.n]))
	}
	a.addNulls(b)
	out.unknownWhereNull(a)
	return nil
}

// evalColumns compares columns of the same width as they are stored. It returns false if the
// rows are not next to each other, or a column has NULLs.
func (c *compare) evalColumns(st *stream, r *rows, out *truths) bool {
	left, ok := c.left.(*columnValue)
	right, both := c.right.(*columnValue)
	if !ok || !both {
		return false
	}
	a, sa := r.locate(left.ref, st.dev.inputs)
	b, sb := r.locate(right.ref, st.dev.inputs)
	if a == nil || b == nil || sa.pos != nil || sb.pos != nil || a.kind != b.kind || a.width != b.width || a.nullable() || b.nullable() {
		return false
	}
	from, other := int(sa.first&sa.space.mask()), int(sb.first&sb.space.mask())
	switch {
	case a.kind != joincore.Fixed:
		return false
	case a.width == 4:
		compareColumns(c.op, out.yes, a.v32[sa.segment()][from:from+r.n], b.v32[sb.segment()][other:other+r.n])
	case a.width == 8:
		compareColumns(c.op, out.yes, a.v64[sa.segment()][from:from+r.n], b.v64[sb.segment()][other:other+r.n])
	default:
		return false
	}
	out.known()
	return true
}

func compareColumns[T storedWord](c comparison, out []uint64, a, b []T) {
	flip := c.flip
	switch c.op {
	case joincore.Equal:
		equalColumns(out, a, b)
	case joincore.Less:
		lessColumns(out, a, b)
	default: // a <= b is not b < a
		lessColumns(out, b, a)
		flip = !flip
	}
	if flip {
		for w := range out {
			out[w] = ^out[w]
		}
	}
}
