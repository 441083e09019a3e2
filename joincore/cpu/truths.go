package cpu

import "math/bits"

// SQL's truth values; AND is the least and OR the greatest of its arguments.
const (
	isFalse uint8 = iota
	isUnknown
	isTrue
)

// truths are the truth values of a chunk's rows, as masks: of AND, OR and NOT, each is one
// operation for 64 rows.
type truths struct {
	yes   []uint64 // true
	maybe []uint64 // true or unknown
}

func newTruths(n int) *truths {
	words := make([]uint64, 2*maskWords(n))
	return &truths{words[:maskWords(n)], words[maskWords(n):]}
}

// set makes all truths the same.
func (t *truths) set(x uint8) {
	yes, maybe := uint64(0), uint64(0)
	if x == isTrue {
		yes = ^yes
	}
	if x != isFalse {
		maybe = ^maybe
	}
	for w := range t.yes {
		t.yes[w], t.maybe[w] = yes, maybe
	}
}

// of returns the truth of row i.
func (t *truths) of(i int) uint8 {
	return uint8(t.yes[i/64]>>(i%64)&1 + t.maybe[i/64]>>(i%64)&1)
}

// known makes what is not true false: no value is NULL.
func (t *truths) known() { copy(t.maybe, t.yes) }

// unknownExcept makes unknown the rows whose bits are not set in maybe, which is overwritten.
func (t *truths) unknownExcept() {
	for w, valid := range t.maybe {
		t.yes[w] &= valid
		t.maybe[w] = t.yes[w] | ^valid
	}
}

// unknownWhereNull makes the rows unknown where v is NULL. What was not true is false.
func (t *truths) unknownWhereNull(v *vector) {
	if !v.nullable {
		t.known()
		return
	}
	maskOf(t.maybe, v.n, func(i int) bool { return v.nulls[i] == 0 })
	t.unknownExcept()
}

// unknownWhereMissing does it where a column is NULL or has no row.
func (t *truths) unknownWhereMissing(st *stream, c *column, s *slot, n int) {
	switch {
	case !c.nullable() && !s.null, s.pos == nil && c.flags == nil && c.bits[s.segment()] == nil:
		t.known()
	case s.pos == nil && c.flags == nil:
		validBits(t.maybe, c.bits[s.segment()], int(s.first&s.space.mask()), n)
		t.unknownExcept()
	default:
		v := st.takeVector()
		v.ints(n)
		fetchNullsOf(v, c, s)
		t.unknownWhereNull(v)
		st.drop(1, 0, 0)
	}
}

func (t *truths) not() {
	for w, yes := range t.yes {
		t.yes[w], t.maybe[w] = ^t.maybe[w], ^yes
	}
}

func (t *truths) and(o *truths) {
	for w := range t.yes {
		t.yes[w] &= o.yes[w]
		t.maybe[w] &= o.maybe[w]
	}
}

func (t *truths) or(o *truths) {
	for w := range t.yes {
		t.yes[w] |= o.yes[w]
		t.maybe[w] |= o.maybe[w]
	}
}

// pick makes t the truths of the chosen rows of o.
func (t *truths) pick(o *truths, sel []uint32) {
	maskOf(t.yes, len(sel), func(j int) bool { return o.yes[sel[j]/64]>>(sel[j]%64)&1 != 0 })
	maskOf(t.maybe, len(sel), func(j int) bool { return o.maybe[sel[j]/64]>>(sel[j]%64)&1 != 0 })
}

// put sets the bits of the chosen rows of t, none of which are set, to the truths o.
func (t *truths) put(o *truths, sel []uint32) {
	putBits(t.yes, o.yes, sel)
	putBits(t.maybe, o.maybe, sel)
}

func putBits(to, from []uint64, sel []uint32) {
	for w := range maskWords(len(sel)) {
		word := from[w]
		if 64*w+64 > len(sel) {
			word &= lastBits(len(sel))
		}
		for ; word != 0; word &= word - 1 {
			at := sel[64*w+bits.TrailingZeros64(word)]
			to[at/64] |= 1 << (at % 64)
		}
	}
}
