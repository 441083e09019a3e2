package cpu

import (
	"bytes"
	"fmt"
	"math/bits"

	"gpujoin/joincore"
)

var errSum = fmt.Errorf("a sum of more than 128 bits: %w", joincore.ErrArithmetic)
var errSquares = fmt.Errorf("a sum of squares of more than 256 bits: %w", joincore.ErrArithmetic)

// update adds the rows of a source to their groups. Rows of group 0 are left
// out.
func (t *groupTable) update(s *source, arguments []argumentChunk, group []uint32, w *updateScratch) error {
	one := len(t.plan.keys) == 0
	few := one || t.n <= fewGroups && len(s.functions) >= fewFunctions
	if few && !one {
		w.runs.arrange(group)
	}
	if s.distinct == nil {
		t.countRows(group, w, few)
	}
	for _, a := range s.arguments {
		chunk := &arguments[a]
		of := group
		if s.distinct != nil {
			addOnes(t.c64[t.plan.skipped+a], group)
		} else if chunk.skip != nil {
			of = w.masked[:len(group)]
			t.mask(t.c64[t.plan.skipped+a], chunk.skip, group, of)
		}
		for _, j := range s.functions {
			f := &t.plan.functions[j]
			if f.argument != a {
				continue
			}
			var err error
			if few && chunk.skip == nil && chunk.high == nil && f.kind == joincore.Sum {
				err = t.sumFew(f, &w.runs, chunk.v)
			} else {
				err = t.apply(f, chunk, of)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// updateScratch is memory for an update.
type updateScratch struct {
	masked []uint32
	runs   runs
}

// countRows counts the rows of each group.
func (t *groupTable) countRows(group []uint32, w *updateScratch, few bool) {
	counts := t.c64[t.plan.rows]
	switch {
	case len(t.plan.keys) == 0:
		counts[1] += uint64(len(group))
	case few:
		w.runs.each(t.n, func(g uint32, rows []uint32) { counts[g] += uint64(len(rows)) })
	default:
		addOnes(counts, group)
	}
}

func addOnes(counts []uint64, group []uint32) {
	for _, g := range group {
		counts[g]++
	}
}

// mask counts the rows without a value, and makes theirs group 0 in of.
func (t *groupTable) mask(counts []uint64, skip []uint8, group, of []uint32) {
	skip = skip[:len(of)]
	group = group[:len(of)]
	for i, x := range skip {
		of[i] = group[i] & (uint32(x) - 1)
		counts[group[i]] += uint64(x)
	}
}

// apply adds values to the state of one function.
func (t *groupTable) apply(f *function, a *argumentChunk, group []uint32) error {
	if f.kind == joincore.Count || f.repeated {
		return nil
	}
	if f.bytes {
		return t.extremeBytes(f, a.spans, group)
	}
	state := t.c64[f.state : f.state+f.columns()]
	v := a.v[:len(group)]
	switch f.kind {
	case joincore.Sum:
		if f.wide {
			return addWide(state[0], state[1], group, v, a.high)
		}
		addAll(state[0], state[1], group, v)
	case joincore.SumOfSquares:
		return addSquares(state, group, v, a.high)
	case joincore.SumFloat8, joincore.SumFloat4, joincore.AverageFloat:
		addFloats(state, group, v)
	case joincore.BoolAnd, joincore.BoolOr:
		extremeTruths(state[0], group, v, a.high, f.kind == joincore.BoolAnd)
	case joincore.Min, joincore.Max:
		switch {
		case f.wide:
			extremeWide(state[0], state[1], group, v, a.high, f.kind == joincore.Max)
		case f.kind == joincore.Min:
			lowest(state[0], group, v)
		default:
			highest(state[0], group, v)
		}
	}
	return nil
}

// addAll adds to sums in 64 bits. A sum is high*2^64 plus low as a signed
// number: an overflow of low is rare.
func addAll(low, high []uint64, group []uint32, v []uint64) {
	v = v[:len(group)]
	for i, g := range group {
		x := v[i]
		a := low[g]
		s := a + x
		low[g] = s
		if int64((a^s)&(x^s)) < 0 {
			high[g] += carryOf(a)
		}
	}
}

// carryOf returns what an overflow of a sum adds to its high word: 1 where the
// terms, of which a is one, are positive, else -1.
func carryOf(a uint64) uint64 { return uint64(int64(a)>>63) | 1 }

// addWide adds to sums of 128 bits. vHigh nil: the values have 64.
func addWide(low, high []uint64, group []uint32, v, vHigh []uint64) error {
	for i, g := range group {
		if g == 0 {
			continue
		}
		x := uint64(int64(v[i]) >> 63)
		if vHigh != nil {
			x = vHigh[i]
		}
		var ok bool
		if low[g], high[g], ok = add128(low[g], high[g], v[i], x); !ok {
			return errSum
		}
	}
	return nil
}

// add128 adds signed integers of 128 bits.
func add128(aLow, aHigh, bLow, bHigh uint64) (low, high uint64, ok bool) {
	low, carry := bits.Add64(aLow, bLow, 0)
	high, _ = bits.Add64(aHigh, bHigh, carry)
	return low, high, int64((aHigh^high)&(bHigh^high)) >= 0
}

func lowest(state []uint64, group []uint32, v []uint64) {
	v = v[:len(group)]
	for i, g := range group {
		state[g] = uint64(min(int64(state[g]), int64(v[i])))
	}
}

func highest(state []uint64, group []uint32, v []uint64) {
	v = v[:len(group)]
	for i, g := range group {
		state[g] = uint64(max(int64(state[g]), int64(v[i])))
	}
}

// extremeTruths keeps the least truth, or the greatest.
func extremeTruths(state []uint64, group []uint32, v, high []uint64, least bool) {
	for i, g := range group {
		x := v[i]
		if high != nil {
			x |= high[i]
		}
		if x != 0 {
			x = 1
		}
		if least {
			state[g] = uint64(min(int64(state[g]), int64(x)))
		} else {
			state[g] = uint64(max(int64(state[g]), int64(x)))
		}
	}
}

func extremeWide(low, high []uint64, group []uint32, v, vHigh []uint64, most bool) {
	for i, g := range group {
		x := uint64(int64(v[i]) >> 63)
		if vHigh != nil {
			x = vHigh[i]
		}
		if less128(v[i], x, low[g], high[g]) != most {
			low[g], high[g] = v[i], x
		}
	}
}

// less128 compares signed integers of 128 bits.
func less128(aLow, aHigh, bLow, bHigh uint64) bool {
	if aHigh != bHigh {
		return int64(aHigh) < int64(bHigh)
	}
	return aLow < bLow
}

// addSquares adds to sums of 256 bits.
func addSquares(state [][]uint64, group []uint32, v, high []uint64) error {
	for i, g := range group {
		if g == 0 {
			continue
		}
		var x square
		if high == nil {
			a := v[i]
			if int64(a) < 0 {
				a = -a
			}
			x[1], x[0] = bits.Mul64(a, a)
		} else {
			x = square128(v[i], high[i])
		}
		if !addSquare(state, g, &x) {
			return errSquares
		}
	}
	return nil
}

// square is an unsigned integer of 256 bits, the lowest word first.
type square [4]uint64

// square128 returns the square of a signed integer of 128 bits.
func square128(low, high uint64) square {
	if int64(high) < 0 {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	var x square
	var carry uint64
	x[1], x[0] = bits.Mul64(low, low)
	x[3], x[2] = bits.Mul64(high, high)
	middleHigh, middle := bits.Mul64(low, high) // twice
	for range 2 {
		x[1], carry = bits.Add64(x[1], middle, 0)
		x[2], carry = bits.Add64(x[2], middleHigh, carry)
		x[3] += carry
	}
	return x
}

// addSquare adds to a group's sum of squares, and says whether it fits.
func addSquare(state [][]uint64, g uint32, x *square) bool {
	var carry uint64
	for w := range x {
		state[w][g], carry = bits.Add64(state[w][g], x[w], carry)
	}
	return carry == 0
}

// extremeBytes keeps the least or the greatest bytes. A state is where they are,
// plus 1, and their length and the space that they have.
func (t *groupTable) extremeBytes(f *function, spans [][]byte, group []uint32) error {
	for i, g := range group {
		if g != 0 {
			if err := t.offer(f, g, spans[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *groupTable) offer(f *function, g uint32, b []byte) error {
	where, space := &t.c64[f.state][g], &t.c64[f.state+1][g]
	if *where != 0 {
		order := bytes.Compare(b, t.kept(f, int(g)))
		if order == 0 || order > 0 != (f.kind == joincore.Max) {
			return nil
		}
		if len(b) <= int(uint32(*space)) {
			copy(t.heap[*where-1:], b)
			*space = uint64(len(b))<<32 | *space&0xffffffff
			return nil
		}
	}
	size := 1 << bits.Len(uint(len(b)))
	at, err := t.store(b, size)
	if err != nil {
		return err
	}
	*where, *space = uint64(at)+1, uint64(len(b))<<32|uint64(size)
	return nil
}

// kept returns the bytes of a state.
func (t *groupTable) kept(f *function, g int) []byte {
	at := t.c64[f.state][g] - 1
	return t.heap[at:][:t.c64[f.state+1][g]>>32]
}

// merge adds the state of groups of another table: that of group from[i] to
// that of group to[i].
func (t *groupTable) merge(o *groupTable, from, to []uint32) error {
	p := t.plan
	for c := p.rows; c < p.skipped+len(p.arguments); c++ {
		a, b := t.c64[c], o.c64[c]
		for i, g := range to {
			a[g] += b[from[i]]
		}
	}
	for i := range p.functions {
		if err := t.mergeFunction(&p.functions[i], o, from, to); err != nil {
			return err
		}
	}
	return nil
}

func (t *groupTable) mergeFunction(f *function, o *groupTable, from, to []uint32) error {
	if f.bytes && f.kind != joincore.Count {
		for i, g := range to {
			if o.c64[f.state][from[i]] != 0 {
				if err := t.offer(f, g, o.kept(f, int(from[i]))); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if f.repeated {
		return nil
	}
	a, b := t.c64[f.state:f.state+f.columns()], o.c64[f.state:f.state+f.columns()]
	for i, g := range to {
		h := from[i]
		switch f.kind {
		case joincore.Sum:
			if !f.wide {
				mergeSum(a[0], a[1], g, b[0][h], b[1][h])
				continue
			}
			var ok bool
			if a[0][g], a[1][g], ok = add128(a[0][g], a[1][g], b[0][h], b[1][h]); !ok {
				return errSum
			}
		case joincore.SumOfSquares:
			if !addSquare(a, g, &square{b[0][h], b[1][h], b[2][h], b[3][h]}) {
				return errSquares
			}
		case joincore.SumFloat8, joincore.SumFloat4, joincore.AverageFloat:
			mergeFloats(a, b, g, h)
		case joincore.BoolAnd, joincore.BoolOr, joincore.Min, joincore.Max:
			f.mergeExtreme(a, b, g, h)
		}
	}
	return nil
}

// mergeSum adds a sum as addAll has it.
func mergeSum(low, high []uint64, g uint32, bLow, bHigh uint64) {
	a := low[g]
	s := a + bLow
	low[g] = s
	high[g] += bHigh
	if int64((a^s)&(bLow^s)) < 0 {
		high[g] += carryOf(a)
	}
}

func (f *function) mergeExtreme(a, b [][]uint64, g, h uint32) {
	most := f.kind == joincore.Max || f.kind == joincore.BoolOr
	if f.columns() == 2 {
		if less128(b[0][h], b[1][h], a[0][g], a[1][g]) != most {
			a[0][g], a[1][g] = b[0][h], b[1][h]
		}
		return
	}
	x, y := int64(a[0][g]), int64(b[0][h])
	if most {
		a[0][g] = uint64(max(x, y))
	} else {
		a[0][g] = uint64(min(x, y))
	}
}
