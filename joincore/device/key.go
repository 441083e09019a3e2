package device

import "gpujoin/joincore"

// Key is one side of a join's equalities. Every row's key is normalised to 64 bits:
// exactly if the parts fit, so that equal numbers mean equal keys; otherwise to a
// hash, and the values of candidate pairs are compared.
type Key struct {
	Parts []KeyPart
	Exact bool
}

// KeyPart is one column of a key.
type KeyPart struct {
	Column joincore.ColumnRef
	Class  joincore.KeyClass
	Bits   int // of an exact key: the number's bits that hold this part
}

// Keys plans the normalisation of a join's keys. columnOf returns the description of
// a column of the plan. Integers are compared by value: a part is as wide as the
// wider of its two columns. Fixed bytes of width 8 or less are treated as integers.
func Keys(pairs []joincore.KeyPair, columnOf func(joincore.ColumnRef) joincore.Column) (left, right *Key) {
	left, right = &Key{Exact: true}, &Key{Exact: true}
	total := 0
	for _, p := range pairs {
		bits := 8 * max(columnOf(p.Left).Width, columnOf(p.Right).Width)
		if p.Class == joincore.KeyVarlena {
			bits = 65
		}
		total += bits
		left.Parts = append(left.Parts, KeyPart{Column: p.Left, Class: p.Class, Bits: bits})
		right.Parts = append(right.Parts, KeyPart{Column: p.Right, Class: p.Class, Bits: bits})
	}
	if total > 64 {
		left.Exact, right.Exact = false, false
	}
	return left, right
}

// Columns returns the columns of all parts, in order.
func (k *Key) Columns() []joincore.ColumnRef {
	out := make([]joincore.ColumnRef, len(k.Parts))
	for i, p := range k.Parts {
		out[i] = p.Column
	}
	return out
}

// Emit says which rows a probe returns.
type Emit uint8

const (
	// Pairs: one row per pair of a probe row and a partner.
	Pairs Emit = iota + 1
	// Outer: pairs, and the probe rows without a partner.
	Outer
	// Semi: once each probe row that has a partner.
	Semi
	// Anti: the probe rows without a partner.
	Anti
	// Nothing: no rows; probing only marks build rows.
	Nothing
)

// Match says when a build and a probe row are partners, and what a probe returns.
type Match struct {
	Build, Probe *Key
	Residual     joincore.Expr // nil: none; over columns of both sides
	Parameters   []joincore.Parameter
	Emit         Emit
	Mark         bool  // record which build rows have found a partner
	ProbeRows    int64 // estimate of the rows that will probe; a hint
}

// KeyRange is the range of exact keys, as signed integers.
type KeyRange struct {
	Rows      int64 // with a key that is not NULL
	Low, High int64 // valid if Rows is not 0
}

// Merge extends r to include o.
func (r *KeyRange) Merge(o KeyRange) {
	switch {
	case o.Rows == 0:
	case r.Rows == 0:
		*r = o
	default:
		r.Rows += o.Rows
		r.Low, r.High = min(r.Low, o.Low), max(r.High, o.High)
	}
}

// Dense reports whether a table of the keys may be an array over their range, in which
// a lookup is one load: the array is no larger than a hash table, or small compared
// with the number of probe rows.
func (r KeyRange) Dense(probeRows int64) bool { return r.within(8, probeRows) }

// VeryDense reports whether such an array is small compared with both sides' rows.
func (r KeyRange) VeryDense(probeRows int64) bool { return r.within(4, probeRows) }

// SmallRange bounds the range, in values, for which the number of probe rows alone
// justifies an array: caches are still effective at that size.
const SmallRange = 1 << 23

// within reports whether the range has at most factor values per row, or at most one
// per probe row.
func (r KeyRange) within(factor uint64, probeRows int64) bool {
	span := uint64(r.High) - uint64(r.Low)
	most := max(factor*uint64(r.Rows)+1<<10, uint64(min(max(probeRows, 0), SmallRange)))
	return r.Rows > 0 && span < most && span < 1<<32-2
}
