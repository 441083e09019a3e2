package device

import "gpujoin/joincore"

// Key is one side of a join's equalities. Every row's key is normalised to 64
// bits: exactly, where the parts fit, so that equal numbers mean equal keys;
// else as a hash, and partners are compared by their values.
type Key struct {
	Parts []KeyPart
	Exact bool
}

// KeyPart is one column of a key.
type KeyPart struct {
	Column joincore.ColumnRef
	Class  joincore.KeyClass
	Bits   int // of an exact key: how many bits of the number are this part's
}

// Keys plans the normalisation of a join's keys. columnOf describes a column
// of the plan. Integers are compared by value: a part is as wide as the wider
// of its two columns. Fixed bytes of at most 8 are as good as integers.
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

// Columns returns the columns of all parts, in their order.
func (k *Key) Columns() []joincore.ColumnRef {
	out := make([]joincore.ColumnRef, len(k.Parts))
	for i, p := range k.Parts {
		out[i] = p.Column
	}
	return out
}

// Emit says what probing returns.
type Emit uint8

const (
	// Pairs: a row for each probe row and partner.
	Pairs Emit = iota + 1
	// Outer: pairs, and the probe rows without partner.
	Outer
	// Semi: each probe row that has a partner, once.
	Semi
	// Anti: the probe rows that have no partner.
	Anti
	// Nothing: only marks.
	Nothing
)

// Match says when a build and a probe row are partners, and what follows.
type Match struct {
	Build, Probe *Key
	Residual     joincore.Expr // nil: none; over columns of both sides
	Parameters   []joincore.Parameter
	Emit         Emit
	Mark         bool  // remember the build rows that have found a partner
	ProbeRows    int64 // about how many rows are going to probe; a hint
}

// KeyRange is the range of exact keys, as signed integers.
type KeyRange struct {
	Rows      int64 // that have a key
	Low, High int64 // where there are such rows
}

// Merge makes r the range of both.
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

// Dense says whether a table of the keys can be an array over their range,
// where a lookup is one load: the array is then no larger than a hash table,
// or small beside so many rows that are going to probe it.
func (r KeyRange) Dense(probeRows int64) bool { return r.within(8, probeRows) }

// VeryDense says whether such an array is small beside the rows of both sides.
func (r KeyRange) VeryDense(probeRows int64) bool { return r.within(4, probeRows) }

// SmallRange is up to how many values a range may have for the number of
// probing rows alone to justify its array: caches still help then.
const SmallRange = 1 << 23

// within says whether the range has at most so many values for each row, or
// one for each row that probes.
func (r KeyRange) within(factor uint64, probeRows int64) bool {
	span := uint64(r.High) - uint64(r.Low)
	most := max(factor*uint64(r.Rows)+1<<10, uint64(min(max(probeRows, 0), SmallRange)))
	return r.Rows > 0 && span < most && span < 1<<32-2
}
