package sidecar

import (
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
)

// chain is a value that is split over extents: its parts, in order, as far as
// they have come.
type chain struct {
	parts map[uint32]*memory.Extent
}

// chainFilled takes a part of a chained value over.
func (j *job) chainFilled(s *session, v *shm.ChainFilled) error {
	h, usable, err := j.take(s, v.Extent)
	added := false
	if usable {
		added, err = j.addPart(h, v)
	}
	if h != nil && !added {
		h.extent.Release()
	}
	return err
}

// addPart adds a part to its value, unless the job has failed meanwhile.
func (j *job) addPart(h *holding, v *shm.ChainFilled) (added bool, err error) {
	p, _, err := shm.ReadChainPart(h.extent.Data)
	if err != nil {
		return false, violation("%v", err)
	}
	if p.Chain != v.Chain || p.Part != v.Part || p.Bytes != v.Bytes {
		return false, violation("part %d of value %#x is not what its extent holds", v.Part, v.Chain)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return false, nil
	}
	c := j.chains[v.Chain]
	if c == nil {
		c = &chain{parts: map[uint32]*memory.Extent{}}
		j.chains[v.Chain] = c
	}
	if c.parts[v.Part] != nil {
		return false, violation("part %d of value %#x came twice", v.Part, v.Chain)
	}
	c.parts[v.Part] = h.extent
	j.bytesIn += int64(v.Bytes)
	return true, nil
}

// chainGet sends all parts of a value; the participant maps them until it
// releases each.
func (j *job) chainGet(s *session, v *shm.ChainGet) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	c := j.chains[v.Chain]
	if c == nil {
		return violation("there is no value %#x", v.Chain)
	}
	total := uint32(len(c.parts))
	for first := uint32(0); first < total; first += shm.FrameMaxFDs {
		m := shm.ChainParts{Chain: v.Chain, First: first, Count: min(total-first, shm.FrameMaxFDs), Parts: total}
		extents := make([]*memory.Extent, m.Count)
		for i := range m.Count {
			e := c.parts[first+i]
			if e == nil {
				return violation("part %d of value %#x is missing", first+i, v.Chain)
			}
			m.Extents[i], extents[i] = e.ID, e
		}
		for _, e := range extents {
			s.hold(e)
		}
		s.out.send(shm.AppendFrame(nil, shm.MsgChainParts, int(m.Count), &m), extents...)
	}
	return nil
}

// hold adds a holding of a part. The caller has locked the job.
func (s *session) hold(e *memory.Extent) {
	e.Retain()
	if h := s.held[e.ID]; h != nil {
		h.times++
		return
	}
	s.held[e.ID] = &holding{extent: e, role: rolePart, times: 1}
}

// freeChains gives the parts of all values back. The caller has locked j.
func (j *job) freeChains() {
	for _, c := range j.chains {
		for _, e := range c.parts {
			e.Release()
		}
	}
	j.chains = map[uint64]*chain{}
}
