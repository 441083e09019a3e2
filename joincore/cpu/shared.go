package cpu

import (
	"fmt"

	"gpujoin/joincore"
)

// shared is an integer that occurs several times among the arguments of an
// aggregation. It is computed once for a chunk.
type shared struct {
	inner value
	slot  int // of the memo
}

func (c *shared) eval(st *stream, r *rows, out *vector) error {
	v, err := c.once(st, r)
	if err != nil {
		return err
	}
	if v == nil {
		return c.inner.eval(st, r, out)
	}
	out.copy(v)
	return nil
}

// once returns the value for the rows of the memo, which the caller must not
// change but for its width, and nil for other rows.
func (c *shared) once(st *stream, r *rows) (*vector, error) {
	m := st.memo
	if m == nil || m.rows != r {
		return nil, nil
	}
	if !m.known[c.slot] {
		if err := c.inner.eval(st, r, m.values[c.slot]); err != nil {
			return nil, err
		}
		m.known[c.slot] = true
	}
	return m.values[c.slot], nil
}

// memo holds the shared values of a chunk's rows.
type memo struct {
	rows   *rows
	known  []bool
	values []*vector
}

func newMemo(values, capacity int) memo {
	m := memo{known: make([]bool, values)}
	for range values {
		m.values = append(m.values, newVector(capacity))
	}
	return m
}

// begin forgets all values, and has those of r to come.
func (m *memo) begin(r *rows) {
	m.rows = r
	clear(m.known)
}

// sharing finds the integers that occur several times, and compiles those.
type sharing struct {
	plan   *groupPlan
	counts map[string]int // by identity
	shared map[string]*shared
}

// shareValues compiles the arguments of the aggregation's own rows so that they
// share what they have in common.
func (p *groupPlan) shareValues() {
	s := sharing{plan: p, counts: map[string]int{}, shared: map[string]*shared{}}
	for _, i := range p.sources[0].arguments {
		s.count(p.arguments[i].value)
	}
	for _, i := range p.sources[0].arguments {
		if a := &p.arguments[i]; a.value != nil {
			a.compiled = s.compile(a.value)
		}
	}
	p.shared = len(s.shared)
}

// identity returns the same string for equal values; "" for those that are not
// shared.
func (s *sharing) identity(v joincore.Value) string {
	switch v := v.(type) {
	case joincore.ColumnRef:
		if typeOf(v, s.plan.spec.Schema).Bytes {
			return ""
		}
		return fmt.Sprintf("column %d.%d", v.Input, v.Column)
	case joincore.Decimal:
		return fmt.Sprintf("decimal %d.%d", v.Column.Input, v.Column.Column)
	case joincore.Int:
		return fmt.Sprintf("%d", v)
	case joincore.ParameterIndex:
		return fmt.Sprintf("parameter %d", v)
	case *joincore.Arithmetic:
		left, right := s.identity(v.Left), s.identity(v.Right)
		if left == "" || right == "" {
			return ""
		}
		return fmt.Sprintf("(%s %d:%d %s)", left, v.Op, v.Width, right)
	}
	return ""
}

// count counts the occurrences of a value, and those of its parts as often as
// it is computed.
func (s *sharing) count(v joincore.Value) {
	switch v := v.(type) {
	case joincore.ColumnRef, joincore.Decimal:
		s.counts[s.identity(v)]++
	case *joincore.Arithmetic:
		id := s.identity(v)
		if s.counts[id]++; id == "" || s.counts[id] == 1 {
			s.count(v.Left)
			s.count(v.Right)
		}
	}
}

func (s *sharing) compile(v joincore.Value) value {
	id := s.identity(v)
	if id == "" || s.counts[id] < 2 {
		return s.parts(v)
	}
	if s.shared[id] == nil {
		inner := s.parts(v)
		s.shared[id] = &shared{inner: inner, slot: len(s.shared)}
	}
	return s.shared[id]
}

// parts compiles a value whose parts may be shared.
func (s *sharing) parts(v joincore.Value) value {
	if a, ok := v.(*joincore.Arithmetic); ok {
		return &arithmetic{op: a.Op, width: a.Width, left: s.compile(a.Left), right: s.compile(a.Right)}
	}
	return s.plan.dev.value(v, s.plan.spec.Parameters)
}
