package cpu

import "gpujoin/joincore"

// substring is a range of characters with constant bounds.
type substring struct {
	arg         value
	first, last int // characters from 0; last is not included
	utf8        bool
}

func newSubstring(s *joincore.Substring, arg value) *substring {
	const most = 1 << 40 // more than any value has, and far from overflow
	from := min(max(s.From, -most), most)
	out := &substring{arg: arg, first: max(from-1, 0), last: most, utf8: s.Characters == joincore.UTF8}
	if s.For >= 0 {
		out.last = max(from-1+min(s.For, 2*most), out.first)
	}
	return out
}

func (c *substring) fails() bool { return c.arg.fails() }

func (c *substring) eval(st *stream, r *rows, out *vector) error {
	if err := c.arg.eval(st, r, out); err != nil || out.all {
		return err
	}
	for i, b := range out.bytes[:out.n] {
		if b == nil {
			continue // NULL
		}
		from := c.offset(b, c.first)
		out.bytes[i] = b[from : from+c.offset(b[from:], c.last-c.first)]
	}
	return nil
}

// offset returns where the character number n begins, or where b ends.
func (c *substring) offset(b []byte, n int) int {
	if !c.utf8 || n >= len(b) {
		return min(n, len(b))
	}
	i := 0
	for ; n > 0 && i < len(b); n-- {
		i = nextCharacter(b, i)
	}
	return i
}

// nextCharacter returns where the UTF-8 character at i ends.
func nextCharacter(b []byte, i int) int {
	for i++; i < len(b) && b[i]&0xc0 == 0x80; i++ {
	}
	return i
}
