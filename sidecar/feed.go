package sidecar

import (
	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
)

// Feeding: participants ask for extents, fill them, and hand them over.

// want grants extents. A job that outgrows the budget fails, which sends its
// query to the native plan.
func (j *job) want(s *session, v *shm.Want) error {
	if v.Count < 1 || v.Count > shm.FrameMaxFDs || v.Reserved != 0 {
		return violation("WANT of %d extents", v.Count)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.fed || j.exec != nil {
		return violation("WANT after FED or RUN")
	}
	if j.failed != nil {
		return nil
	}
	s.feeding = true
	g := shm.Grant{Count: v.Count}
	var list [shm.FrameMaxFDs]*memory.Extent
	for i := range int(v.Count) {
		e, err := j.account.Extent(false)
		if err != nil {
			if i > 0 { // fewer will do
				g.Count = uint32(i)
				break
			}
			j.failLocked(toFailure(err))
			return nil
		}
		s.held[e.ID] = &holding{extent: e, role: roleGranted, times: 1}
		g.Extents[i], list[i] = e.ID, e
	}
	var buf [256]byte
	s.out.send(shm.AppendFrame(buf[:0], shm.MsgGrant, int(g.Count), &g), list[:g.Count]...)
	return nil
}

// take ends the participant's holding of an extent that it was granted. The
// caller has locked j; the reference is the caller's.
func (s *session) take(id uint64) (*holding, error) {
	h := s.held[id]
	if h == nil || h.role != roleGranted {
		return nil, violation("extent %d was not granted", id)
	}
	delete(s.held, id)
	return h, nil
}

// filled takes a batch of an input over.
func (j *job) filled(s *session, v *shm.Filled) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	h, err := s.take(v.Extent)
	if err != nil {
		return err
	}
	err = j.addBatch(s, h, v)
	if err != nil || j.failed != nil {
		h.extent.Release()
	}
	return err
}

func (j *job) addBatch(s *session, h *holding, v *shm.Filled) error {
	switch {
	case j.failed != nil:
		return nil
	case s.fed || j.exec != nil:
		return violation("FILLED after FED or RUN")
	case int64(v.Input) >= int64(len(j.fed)):
		return violation("FILLED for input %d of %d", v.Input, len(j.fed))
	}
	in := &j.fed[v.Input]
	view, err := shm.ReadBatch(h.extent.Data, in.shapes)
	if err != nil {
		return violation("input %d: %v", v.Input, err)
	}
	if view.Rows == 0 || int64(view.Rows) != int64(v.Rows) {
		return violation("input %d: %d rows announced, batch of %d", v.Input, v.Rows, view.Rows)
	}
	seg := joincore.Segment{Rows: view.Rows, Columns: make([]joincore.Vector, len(view.Columns))}
	for i := range view.Columns {
		c := &view.Columns[i]
		seg.Columns[i] = joincore.Vector{Values: c.Values, Validity: c.Validity, Heap: c.Heap}
	}
	in.relation.Segments = append(in.relation.Segments, seg)
	in.extents = append(in.extents, h.extent)
	j.rowsIn += int64(view.Rows)
	j.bytesIn += view.Used
	return nil
}

// fedBy ends the feeding of one participant.
func (j *job) fedBy(s *session, v *shm.Fed) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	if s.fed || j.exec != nil {
		return violation("FED twice, or after RUN")
	}
	s.fed = true
	s.stats.FedRows, s.stats.FedBytes = v.Rows, v.Bytes
	s.stats.FeedUS, s.stats.WaitUS = v.FeedUS, v.WaitUS
	var buf [shm.FrameSize]byte
	s.out.send(shm.AppendEmpty(buf[:0], shm.MsgFedOK))
	return nil
}
