package cpu

import (
	"bytes"
	"slices"

	"gpujoin/joincore"
)

// element of a pattern: a byte, or one of the wildcards.
type element uint16

const (
	anyCharacter element = 1<<8 + iota
	anyText
)

func newLike(e *joincore.Like, arg value) condition {
	var elements []element
	for i := 0; i < len(e.Pattern); i++ {
		switch b := e.Pattern[i]; b {
		case '%':
			if n := len(elements); n == 0 || elements[n-1] != anyText {
				elements = append(elements, anyText)
			}
		case '_':
			elements = append(elements, anyCharacter)
		case '\\':
			i++
			elements = append(elements, element(e.Pattern[i]))
		default:
			elements = append(elements, element(b))
		}
	}
	return &textCondition{arg: arg, test: matcher(elements, e.Encoding == joincore.UTF8)}
}

// matcher returns the fastest match of a pattern.
func matcher(p []element, utf8 bool) textsTest {
	if slices.Contains(p, anyCharacter) {
		return textTest((&general{p, utf8}).match)
	}
	parts := [][]byte{{}}
	for _, e := range p {
		if e == anyText {
			parts = append(parts, []byte{})
		} else {
			last := &parts[len(parts)-1]
			*last = append(*last, byte(e))
		}
	}
	n := len(parts) - 1
	if n == 0 {
		return compareText{comparisonOf(joincore.Equal), parts[0]}
	}
	return &parted{first: parts[0], inner: parts[1:n], last: parts[n]}
}

// parted matches texts that begin and end with some bytes and have others between them.
type parted struct {
	first, last []byte
	inner       [][]byte // in this order
}

func (p *parted) each(texts [][]byte) uint64 {
	var word uint64
	least := len(p.first) + len(p.last)
	for _, b := range texts {
		word >>= 1
		switch {
		case len(b) < least, len(p.first) > 0 && b[0] != p.first[0]: // of most texts that do not match
		case p.match(b):
			word |= 1 << 63
		}
	}
	return word >> (64 - uint(len(texts)))
}

// match matches a text that is as long as the first and the last part at least. It finds each
// other one as early as it can be, which leaves most for those behind it.
func (p *parted) match(b []byte) bool {
	if !bytes.HasPrefix(b, p.first) || !bytes.HasSuffix(b, p.last) {
		return false
	}
	b = b[len(p.first) : len(b)-len(p.last)]
	for _, part := range p.inner {
		at := bytes.Index(b, part)
		if at < 0 {
			return false
		}
		b = b[at+len(part):]
	}
	return true
}

// general matches any pattern, in particular one with anyCharacter.
type general struct {
	elements []element
	utf8     bool
}

// match lets each anyText take as little as it can: where the rest fails, the
// last one takes one character more. Earlier ones need not be tried again, as
// what follows them has been found as early as it can be.
func (g *general) match(b []byte) bool {
	i, e := 0, 0
	last, from := -1, 0 // the last anyText, and where what follows it begins
	for i < len(b) || e < len(g.elements) {
		if e < len(g.elements) {
			switch x := g.elements[e]; {
			case x == anyText:
				last, from = e, i
				e++
				continue
			case x == anyCharacter && i < len(b):
				i = g.next(b, i)
				e++
				continue
			case i < len(b) && x == element(b[i]):
				i++
				e++
				continue
			}
		}
		if last < 0 || from >= len(b) {
			return false
		}
		from = g.next(b, from)
		i, e = from, last+1
	}
	return true
}

func (g *general) next(b []byte, i int) int {
	if g.utf8 {
		return nextCharacter(b, i)
	}
	return i + 1
}

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
