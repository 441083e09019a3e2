//go:build cuda

package cuda

import (
	"context"
	"slices"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// keyed returns the rows of a space that have a key: an inner join reads no
// others. That is the space itself where it has no NULLs there, or none turn
// up: nothing is moved then. nil: a part of the key is NULL in all rows.
func (e *execution) keyed(ctx context.Context, s *space, key *device.Key, keep device.Keep) (*space, error) {
	find, nullable := e.lookup(ctx, s, e.workspace.main.Stream()), false
	for _, p := range key.Parts {
		c, err := find(p.Column)
		if c.Missing || err != nil {
			return nil, err
		}
		nullable = nullable || c.Validity != 0 || c.Optional
	}
	if !nullable {
		return s, nil
	}
	mark := e.workspace.arena.Mark()
	chosen, rows, err := e.choose(ctx, s.rows, func(to driver.Ptr) (*rowid.Count, error) {
		count, err := e.workspace.main.Keyed(ctx, e.side(ctx, s), key, to)
		if v, ok := s.base(); ok { // upload payload while the keys are checked
			v.Fetch(ctx, e.columnsRead(v.number, key, nil, keep))
		}
		return count, err
	})
	if err != nil {
		return nil, err
	}
	if rows == s.rows {
		e.workspace.arena.Rewind(mark)
		return s, nil
	}
	keep.Columns = slices.Clone(keep.Columns)
	for _, p := range key.Parts {
		keep.Columns = append(keep.Columns, p.Column)
	}
	out := e.newSpace(rows)
	return out, out.pick(s, chosen, keep)
}

// takeKey makes the key column of rows that have a key: a column as it is, where
// that is as wide as the key, or its parts side by side.
func (w *materialisedSide) takeKey(ctx context.Context, e *execution, s *space, key *device.Key) error {
	column, bytes := &key.Parts[0].Column, rowid.KeyBytes(key)
	if len(key.Parts) == 1 && e.describe(*column).Width == bytes {
		c, err := e.lookup(ctx, s, e.workspace.main.Stream())(*column)
		if err != nil {
			return err
		}
		w.plain = column
		c.Validity, c.Optional = 0, false
		w.Key, _, err = e.dense(c, s.rows)
		return err
	}
	to, err := e.workspace.arena.Take(s.rows * int64(bytes))
	if err != nil {
		return err
	}
	w.Key = columnar.Column{Addr: to, Bytes: bytes}
	return e.workspace.main.Keys(ctx, e.side(ctx, s), key, to)
}
