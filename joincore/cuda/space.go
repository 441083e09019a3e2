//go:build cuda

package cuda

import (
	"context"
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// space is a set of rows. Of the inputs that it covers it has the row numbers,
// of columns that were moved with a key the values; of both it may have the
// numbers that lead to them.
type space struct {
	workspace *workspace
	rows      int64
	members   map[int]member
	carried   map[joincore.ColumnRef]rowid.Column
	free      func()
}

// member is an input that a space covers, by a view of it.
type member struct {
	view      *view
	positions driver.Ptr // uint32 a row: the row of the view; 0: the same row
	optional  bool       // positions may be none
}

func (s *workspace) newSpace(rows int64) *space {
	return &space{workspace: s, rows: rows, members: map[int]member{}, carried: map[joincore.ColumnRef]rowid.Column{}}
}

// space takes a space back from an interface; it is always one of e.
func (e *execution) space(s device.Space) *space { return s.(*space) }

// Segments returns all rows as one segment.
func (s *space) Segments() []device.Segment {
	return []device.Segment{{Rows: int(s.rows), At: s.workspace.at()}}
}

// Release frees the memory that was allocated for the space.
func (s *space) Release() {
	if s.free != nil {
		s.free()
		s.free = nil
	}
}

// keptInputs returns the inputs whose row numbers a result has, each once.
func keptInputs(k device.Keep) []int {
	_, inputs := k.Carried(func(joincore.ColumnRef) bool { return false })
	return inputs
}

// pick adds to s what keep says of the rows of from with the given numbers,
// uint32[s.rows]. Numbers of numbers are composed here, in the arena; where
// from is the input itself the numbers are shared.
func (s *space) pick(from *space, chosen driver.Ptr, keep device.Keep) error {
	composed := map[driver.Ptr]driver.Ptr{0: chosen}
	compose := func(inner driver.Ptr) (driver.Ptr, error) {
		if p, ok := composed[inner]; ok {
			return p, nil
		}
		q := s.workspace.main
		p, err := q.Arena().Take(4 * s.rows)
		if err != nil {
			return 0, err
		}
		composed[inner] = p
		return p, q.Compose(chosen, inner, s.rows, p)
	}
	var err error
	for _, input := range keptInputs(keep) {
		if m, ok := from.members[input]; ok {
			if m.positions, err = compose(m.positions); err != nil {
				return err
			}
			s.members[input] = m
		}
	}
	for _, ref := range slices.Concat(keep.Columns, keep.Late) {
		if c, ok := from.carried[ref]; ok {
			if c.Positions, err = compose(c.Positions); err != nil {
				return err
			}
			s.carried[ref] = c
		}
	}
	return nil
}

// numbers returns where a space has the row numbers of an input; covered is
// false where every row of it is NULL.
func (s *space) numbers(input int) (m member, covered bool, err error) {
	m, covered = s.members[input]
	if covered {
		return m, true, nil
	}
	for ref := range s.carried {
		if ref.Input == input {
			return m, false, fmt.Errorf("row ids of input %d were not kept: %w", input, joincore.ErrUnsupported)
		}
	}
	return m, false, nil
}

// Filter returns a space of the rows for which a condition is true. Its memory
// is on top of the stack until it is released.
func (e *execution) Filter(ctx context.Context, from device.Space, condition joincore.Expr, parameters []joincore.Parameter, keep device.Keep) (device.Space, error) {
	source, arena := e.space(from), e.workspace.arena
	mark := arena.Mark()
	out, err := e.filter(ctx, source, condition, parameters, keep)
	if err != nil {
		arena.Rewind(mark)
		return nil, err
	}
	out.free = func() { arena.Rewind(mark) }
	return out, nil
}

func (e *execution) filter(ctx context.Context, from *space, condition joincore.Expr, parameters []joincore.Parameter, keep device.Keep) (*space, error) {
	chosen, rows, err := e.choose(from.rows, func(to driver.Ptr) (int64, error) {
		return e.workspace.main.Filter(ctx, e.side(ctx, from), condition, parameters, to)
	})
	if err != nil {
		return nil, err
	}
	out := e.workspace.newSpace(rows)
	return out, out.pick(from, chosen, keep)
}

// choose allocates memory for at most most row ids, which step writes, and
// keeps only the part that step has filled: step returns how many it has written.
func (e *execution) choose(most int64, step func(to driver.Ptr) (int64, error)) (chosen driver.Ptr, rows int64, err error) {
	arena := e.workspace.arena
	mark := arena.Mark()
	if chosen, err = arena.Take(4 * most); err != nil {
		return 0, 0, err
	}
	defer arena.Hold()() // chosen stays where it is
	if rows, err = step(chosen); err != nil {
		return 0, 0, err
	}
	arena.Rewind(mark)
	chosen, err = arena.Take(4 * rows) // the same place, as much as it needs
	return chosen, rows, err
}
