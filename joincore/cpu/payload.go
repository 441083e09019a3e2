package cpu

import (
	"fmt"

	"gpujoin/joincore"
)

// payload is the data that moves with the keys when a space is transformed.
type payload struct {
	rowIDs  []int                // inputs whose row ids are moved
	columns []joincore.ColumnRef // columns that are moved
	ids     []*column            // destination of each of rowIDs
	carry   []*column            // destination of each of refs
	refs    []joincore.ColumnRef // columns without the key itself
}

// allocate allocates n rows of payload in out, whose keys exist already.
func (p *payload) allocate(out *space, n int, keepNulls bool) error {
	out.ids = map[int]*column{}
	for _, input := range p.rowIDs {
		c, err := out.newColumn(n, 4)
		if err != nil {
			return err
		}
		out.ids[input] = c
		p.ids = append(p.ids, c)
	}
	out.carried = map[joincore.ColumnRef]*column{}
	for _, ref := range p.columns {
		base := out.dev.inputs[ref.Input].columns[ref.Column]
		if out.isKey(ref, base) && !keepNulls {
			out.carried[ref] = out.keys
			continue
		}
		if base.kind != joincore.Fixed {
			return fmt.Errorf("moving a column of variable length: %w", joincore.ErrUnsupported)
		}
		c, err := out.newColumn(n, base.width)
		if err != nil {
			return err
		}
		if base.nullable() {
			flags, err := out.newColumn(n, 1)
			if err != nil {
				return err
			}
			c.flags = flags.v8
		}
		out.carried[ref] = c
		p.carry = append(p.carry, c)
		p.refs = append(p.refs, ref)
	}
	return nil
}

// isKey reports whether a column is the unchanged key, which is moved already.
func (s *space) isKey(ref joincore.ColumnRef, c *column) bool {
	k := s.key
	return k.Exact && len(k.Parts) == 1 && k.Parts[0].Column == ref && c.width == 8
}

// newColumn allocates a column of one segment that the space owns.
func (s *space) newColumn(n, width int) (*column, error) {
	b, err := alloc[uint8](s.dev, n*width)
	if err != nil {
		return nil, err
	}
	s.release = append(s.release, func() { free(s.dev, b) })
	c := &column{kind: joincore.Fixed, width: width}
	c.addSegment(b)
	return c, nil
}

// gather writes the payload of the rows r to the rows from `at` on of the space that
// it was allocated for.
func (p *payload) gather(st *stream, r *rows, at int) {
	inputs := st.dev.inputs
	for i, input := range p.rowIDs {
		r.copyIDs(p.ids[i].v32[0][at:at+r.n], input, 0, inputs)
	}
	for i, ref := range p.refs {
		c, s := r.locate(ref, inputs)
		dst := p.carry[i]
		fetchTo(dst, at, r.n, c, s)
		if dst.flags != nil {
			fetchValid(dst.flags[0][at:at+r.n], c, s)
		}
	}
}
