package cpu

import "context"

// space makes the sorted space: the keys, payload gathered through the positions,
// then the rows whose key is NULL.
func (s *sorter) space(ctx context.Context) (*space, error) {
	out := &space{dev: s.dev, input: -1, shift: 32, key: s.spec.Key, keyed: s.keyed, repeats: s.repeats.Load()}
	out.rows = []int{s.keyed + len(s.nulls)}
	out.ownKeys(s.buffers[0].keys)
	s.buffers[0].keys = nil
	if err := s.fill(ctx, out); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

func (s *sorter) fill(ctx context.Context, out *space) error {
	p := payload{rowIDs: s.spec.RowIDs, columns: s.spec.Carry}
	if err := p.allocate(out, out.rows[0], s.spec.KeepNulls); err != nil {
		return err
	}
	if err := s.gather(ctx, &p, s.buffers[0].pos[:s.keyed], 0); err != nil {
		return err
	}
	return s.gather(ctx, &p, s.nulls, s.keyed)
}

// gather gathers the payload of the rows at positions pos into the rows from `at` on.
func (s *sorter) gather(ctx context.Context, p *payload, pos []uint32, at int) error {
	size := s.blockSize(len(pos))
	return s.dev.parallel(ctx, (len(pos)+size-1)/size, func(st *stream, i int) error {
		to := min((i+1)*size, len(pos))
		for n := i * size; n < to; n += st.dev.chunk {
			if err := st.yield(ctx); err != nil {
				return err
			}
			p.gather(st, st.rowsAt(s.src, pos[n:min(n+st.dev.chunk, to)]), at+n)
		}
		return nil
	})
}

// rowsAt returns the rows at some positions of a space.
func (st *stream) rowsAt(s *space, pos []uint32) *rows {
	st.scan.reset(len(pos))
	st.scan.slots = append(st.scan.slots, slot{space: s, pos: pos})
	return st.scan
}
