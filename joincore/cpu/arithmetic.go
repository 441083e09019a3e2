package cpu

import (
	"math/bits"

	"gpujoin/joincore"
)

// arithmetic is an operation on two integers. It works on 64 bits as long as
// all values of a chunk allow it.
type arithmetic struct {
	op          joincore.ArithmeticOp
	width       int // bytes of the result
	left, right value
}

func (c *arithmetic) eval(st *stream, r *rows, out *vector) error {
	if err := c.left.eval(st, r, out); err != nil {
		return err
	}
	if s, ok := c.right.(*shared); ok {
		if right, err := s.once(st, r); err != nil {
			return err
		} else if right != nil {
			return c.apply(out, right)
		}
	}
	right := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.right.eval(st, r, right); err != nil {
		return err
	}
	return c.apply(out, right)
}

// apply replaces a by the operation's result. Of b, no more than the width
// changes.
func (c *arithmetic) apply(a, b *vector) error {
	if a.all || b.all {
		a.allNull(a.n)
		return nil
	}
	a.addNulls(b)
	if !a.wide && !b.wide && c.narrow(a, b) {
		return c.inRange(a)
	}
	// The result has yet to be computed: narrow leaves its operands as they
	// are where it fails.
	a.widen()
	b.widen()
	if err := c.wide(a, b); err != nil {
		return err
	}
	a.canonical()
	if !a.narrow() && c.width < 16 {
		return joincore.ErrArithmetic
	}
	return c.inRange(a)
}

// inRange checks that integers of up to 64 bits fit the result's width.
func (c *arithmetic) inRange(a *vector) error {
	a.canonical()
	unused := 64 - 8*c.width
	if unused <= 0 {
		return nil
	}
	var differ int64
	for _, x := range a.lo[:a.n] {
		differ |= x ^ x<<unused>>unused
	}
	if differ != 0 {
		return joincore.ErrArithmetic
	}
	return nil
}

// narrow computes in 64 bits. It returns false, and leaves a as it is, where
// some result needs more or cannot be computed.
func (c *arithmetic) narrow(a, b *vector) bool {
	x, y := a.lo[:a.n], b.lo[:a.n]
	switch c.op {
	case joincore.Add:
		return add(x, y)
	case joincore.Subtract:
		return subtract(x, y)
	case joincore.Multiply:
		return multiply(x, y)
	}
	for i, d := range y {
		if d == 0 && !a.null(i) || d == -1 && c.op == joincore.Divide && x[i] == -x[i] && x[i] != 0 {
			return false
		}
	}
	for i, d := range y {
		switch {
		case d == 0: // NULL
		case c.op == joincore.Divide:
			x[i] /= d
		default:
			x[i] %= d
		}
	}
	return true
}

func add(x, y []int64) bool {
	y = y[:len(x)]
	var over int64
	for i, a := range x {
		s := a + y[i]
		over |= (s ^ a) & (s ^ y[i])
	}
	if over < 0 {
		return false
	}
	for i := range x {
		x[i] += y[i]
	}
	return true
}

func subtract(x, y []int64) bool {
	y = y[:len(x)]
	var over int64
	for i, a := range x {
		s := a - y[i]
		over |= (a ^ y[i]) & (s ^ a)
	}
	if over < 0 {
		return false
	}
	for i := range x {
		x[i] -= y[i]
	}
	return true
}

func multiply(x, y []int64) bool {
	y = y[:len(x)]
	var a, b int64 // the bits that some magnitude has, the sign apart
	for i, v := range x {
		a |= v ^ v>>63
		b |= y[i] ^ y[i]>>63
	}
	if bits.Len64(uint64(a))+bits.Len64(uint64(b)) > 63-1 {
		for i, v := range x {
			if hi, lo := multiply64(v, y[i]); hi != lo>>63 {
				return false
			}
		}
	}
	for i := range x {
		x[i] *= y[i]
	}
	return true
}

// multiply64 returns the product's two words.
func multiply64(x, y int64) (hi, lo int64) {
	h, l := bits.Mul64(uint64(x), uint64(y))
	return int64(h) - x>>63&y - y>>63&x, int64(l)
}

// int128 is a signed integer.
type int128 struct {
	hi int64
	lo uint64
}

// wide computes in 128 bits and writes the results to a.
func (c *arithmetic) wide(a, b *vector) error {
	for i := range a.n {
		if a.null(i) {
			continue
		}
		x, y := int128{a.hi[i], uint64(a.lo[i])}, int128{b.hi[i], uint64(b.lo[i])}
		var z int128
		ok := true
		switch c.op {
		case joincore.Add:
			z, ok = x.add(y)
		case joincore.Subtract:
			z, ok = x.subtract(y)
		case joincore.Multiply:
			z, ok = x.multiply(y)
		default:
			var quotient, remainder int128
			quotient, remainder, ok = x.divide(y)
			if z = quotient; c.op == joincore.Modulo {
				z = remainder
				ok = y != int128{} // by -1: 0, whatever the quotient
			}
		}
		if !ok {
			return joincore.ErrArithmetic
		}
		a.hi[i], a.lo[i] = z.hi, int64(z.lo)
	}
	return nil
}

func (x int128) add(y int128) (sum int128, ok bool) {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi := x.hi + y.hi + int64(carry)
	return int128{hi, lo}, (hi^x.hi)&(hi^y.hi) >= 0
}

func (x int128) subtract(y int128) (difference int128, ok bool) {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi := x.hi - y.hi - int64(borrow)
	return int128{hi, lo}, (x.hi^y.hi)&(hi^x.hi) >= 0
}

// magnitude returns the absolute value, which may be 2^127.
func (x int128) magnitude() uint128 {
	if x.hi >= 0 {
		return uint128{uint64(x.hi), x.lo}
	}
	lo, borrow := bits.Sub64(0, x.lo, 0)
	hi, _ := bits.Sub64(0, uint64(x.hi), borrow)
	return uint128{hi, lo}
}

// uint128 is an unsigned integer.
type uint128 struct{ hi, lo uint64 }

// signed returns the integer of a magnitude and a sign; not ok: there is none.
func (m uint128) signed(negative bool) (x int128, ok bool) {
	if !negative {
		return int128{int64(m.hi), m.lo}, m.hi>>63 == 0
	}
	lo, borrow := bits.Sub64(0, m.lo, 0)
	hi, _ := bits.Sub64(0, m.hi, borrow)
	return int128{int64(hi), lo}, m.hi < 1<<63 || m == uint128{hi: 1 << 63}
}

func (x int128) multiply(y int128) (product int128, ok bool) {
	a, b := x.magnitude(), y.magnitude()
	if a.hi != 0 && b.hi != 0 {
		return int128{}, false
	}
	hi, lo := bits.Mul64(a.lo, b.lo)
	over1, cross1 := bits.Mul64(a.hi, b.lo)
	over2, cross2 := bits.Mul64(a.lo, b.hi)
	hi, carry1 := bits.Add64(hi, cross1, 0)
	hi, carry2 := bits.Add64(hi, cross2, 0)
	product, ok = uint128{hi, lo}.signed((x.hi < 0) != (y.hi < 0))
	return product, ok && over1|over2|carry1|carry2 == 0
}

// divide truncates toward zero; the remainder has the sign of x. Not ok: by
// zero, or the quotient is 2^127.
func (x int128) divide(y int128) (quotient, remainder int128, ok bool) {
	if y == (int128{}) {
		return int128{}, int128{}, false
	}
	q, r := x.magnitude().divide(y.magnitude())
	quotient, ok = q.signed((x.hi < 0) != (y.hi < 0))
	remainder, _ = r.signed(x.hi < 0)
	return quotient, remainder, ok
}

// divide divides by d, which is not 0.
func (m uint128) divide(d uint128) (quotient, remainder uint128) {
	if d.hi == 0 {
		hi, rest := bits.Div64(0, m.hi, d.lo)
		lo, rest := bits.Div64(rest, m.lo, d.lo)
		return uint128{hi, lo}, uint128{lo: rest}
	}
	// The quotient has less than 64 bits. It is estimated from the dividend's
	// half and the divisor's first 64 bits, and is then too large by 1 at most
	// (Warren, Hacker's Delight, 9-5).
	shift := uint(bits.LeadingZeros64(d.hi))
	first := d.hi<<shift | d.lo>>(64-shift)
	q, _ := bits.Div64(m.hi>>1, m.hi<<63|m.lo>>1, first)
	if q >>= 63 - shift; q > 0 {
		q--
	}
	over, low := bits.Mul64(q, d.lo)
	lo, borrow := bits.Sub64(m.lo, low, 0)
	hi, _ := bits.Sub64(m.hi, over+q*d.hi, borrow)
	if hi > d.hi || hi == d.hi && lo >= d.lo {
		q++
		lo, borrow = bits.Sub64(lo, d.lo, 0)
		hi, _ = bits.Sub64(hi, d.hi, borrow)
	}
	return uint128{lo: q}, uint128{hi, lo}
}
