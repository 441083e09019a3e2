package kept

// moving is the work of moving the pieces of an extent that is mostly dead, so that it goes
// back.
type moving struct {
	from, to []*piece // held
}

// tidy moves the pieces of one extent, if it pays. It reports whether it has. The caller holds
// the lock of the work.
func (s *Store) tidy() bool {
	s.mu.Lock()
	m := s.planMove()
	s.mu.Unlock()
	if m == nil {
		return false
	}
	for i, p := range m.from {
		copy(m.to[i].span.data, p.span.data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range m.from {
		if c := p.chunk; c != nil {
			p.moved = true
			s.enter(c, m.to[i])
		}
		s.release(m.to[i])
		s.release(p)
	}
	return true
}

// mostlyDead returns the extent with the fewest live bytes, if these are at most half of it and
// a quarter of all memory is dead.
func (s *Store) mostlyDead() (found *extent) {
	dead := s.arena.bytes() - s.arena.spans
	if s.arena.open != nil {
		dead -= s.arena.size - int64(s.arena.open.used)
	}
	if 4*dead < s.arena.bytes() {
		return nil
	}
	for e := range s.arena.extents {
		if e == s.arena.open || e.pins > 0 || 2*e.live > s.arena.size {
			continue
		}
		if found == nil || e.live < found.live || e.live == found.live && e.number < found.number {
			found = e
		}
	}
	return found
}

// planMove takes memory for the pieces of an extent. It evicts nothing for that, but may use
// what is left for scratch memory: it gives an extent back soon.
func (s *Store) planMove() *moving {
	e := s.mostlyDead()
	if e == nil {
		return nil
	}
	if room := s.arena.open; room == nil || int64(len(room.Data)-room.used) < e.live {
		if s.held()+s.arena.size+int64(len(e.pieces))*pieceBytes > s.options.Limit || s.arena.grow() != nil {
			return nil
		}
	} else if s.held()+int64(len(e.pieces))*pieceBytes > s.options.Limit {
		return nil
	}
	m := &moving{}
	for p := range e.pieces {
		sp, err := s.arena.alloc(int64(len(p.span.data)))
		if err != nil {
			continue // no less than all fit
		}
		to := s.newPiece(p.layout, p.column, sp)
		h := shape{column: p.heading().Physical, rows: p.layout.total, heap: int64(len(p.vector.Heap)), validity: p.vector.Validity != nil}
		to.vector = h.vector(sp.data)
		to.vector.Content = p.vector.Content // the same values
		to.vain = p.vain
		s.hold(p)
		m.from, m.to = append(m.from, p), append(m.to, to)
	}
	if len(m.from) == 0 {
		return nil
	}
	return m
}
