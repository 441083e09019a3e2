package mirror

// Publication: what the open transaction has done to a table becomes visible to pins from a
// commit on. All of this runs with Server.mu held.

// publish publishes the open transaction's changes of a table. It returns how many rows they
// delete.
func (r *rows) publish(commit uint64, h horizon) int {
	u := &r.undo
	if u.truncated {
		r.publishTruncation(commit)
		u.index.release()
	}
	for _, s := range u.touched {
		s.touched = false
		if s.until != alive || r.segments[s.number] != s {
			continue // truncated
		}
		if s.shown == nil {
			r.published.segments = append(r.published.segments, s)
		}
		r.published.rows += int64(s.rows - s.stored())
		r.show(s)
		s.publish(commit, h)
		if !s.sealed {
			s.showBorder()
		}
	}
	for _, row := range u.deleted {
		s, at := r.at(row)
		s.deaths = append(s.deaths, death{commit, uint16(at)})
		r.besides(deathBytes)
		r.besides(s.settle(h.oldest, settleLeast))
	}
	deleted := len(u.deleted)
	r.published.rows -= int64(deleted)
	r.closeUndo()
	return deleted
}

// show lets readers see a segment's storage, and not the one before.
func (r *rows) show(s *segment) {
	if s.shown == s.store {
		return
	}
	if s.shown != nil {
		r.unref(s.shown)
	}
	s.shown = s.store
	s.shown.refs++
}

// unref ends a use of a storage; the last one gives its memory back.
func (r *rows) unref(st *storage) {
	if st.refs--; st.refs == 0 {
		r.arena.free(st.spans)
		st.dropForms(r.arena)
		st.forget(r.arena.gone)
	}
}

// publishTruncation ends all segments that the transaction has truncated. Pins may still read
// those that were published.
func (r *rows) publishTruncation(commit uint64) {
	r.published.rows = 0
	for _, s := range r.segments {
		switch {
		case s == nil || !s.cut:
		case s.shown == nil:
			r.drop(s)
		default:
			s.cut = false
			if s.until == alive {
				s.until = commit
				r.published.ended++
			}
		}
	}
}

// retire drops segments that no pin sees. oldest is the commit of the oldest pin.
func (r *rows) retire(oldest uint64) {
	kept := r.published.segments[:0]
	for _, s := range r.published.segments {
		if s.until > oldest {
			kept = append(kept, s)
			continue
		}
		r.published.ended--
		r.forget(s)
	}
	clear(r.published.segments[len(kept):])
	r.published.segments = kept
}

// forget takes a published segment out of the table; readers keep its storage.
func (r *rows) forget(s *segment) {
	if s.store != s.shown {
		r.arena.free(s.store.spans)
	}
	r.unref(s.shown)
	r.besides(-segmentBytes - int64(len(s.deaths))*deathBytes - int64(8*len(s.dead)))
	r.segments[s.number] = nil
	r.unused = append(r.unused, s.number)
}

// release gives all memory of the table back, but what readers have.
func (r *rows) release() {
	if r.undo.truncated {
		r.undo.index.release()
	}
	r.index.release()
	for _, s := range r.segments {
		switch {
		case s == nil:
		case s.shown == nil:
			r.drop(s)
		default:
			r.forget(s)
		}
	}
	r.published.segments = nil
	r.closeUndo()
}
