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

func (c *arithmetic) fails() bool { return true }

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
