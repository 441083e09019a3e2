package sidecar

import (
	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
)

// Feeding: participants ask for extents, fill them, and hand them over.

// want answers WANT with one GRANT, of fewer extents if no more are free. It
// never waits for one: if none is free, the job has outgrown the budget and
// fails, and its query runs the native plan. Extents may have to be created, so
// want does not hold j.mu while it gets them.
func (j *job) want(p *participant, v *shm.Want) error {
	if v.Count < 1 || v.Count > shm.FrameMaxFDs || v.Reserved != 0 {
		return violation("WANT of an invalid number of extents: %d", v.Count)
	}
	j.mu.Lock()
	p.feeding = true
	over, late := j.failed != nil, p.fed || j.exec != nil
	j.mu.Unlock()
	switch {
	case over:
		return nil
	case late:
		return violation("WANT after FED or RUN")
	}
	var list [shm.FrameMaxFDs]*memory.Extent
	n := 0
	for ; n < int(v.Count); n++ {
		e, err := j.account.Extent(false)
		if err != nil && n == 0 {
			j.fail(toFailure(err))
			return nil
		}
		if err != nil {
			break
		}
		list[n] = e
	}
	j.grant(p, list[:n])
	return nil
}

// grant sends extents to a participant, or releases them if the job has failed.
func (j *job) grant(p *participant, list []*memory.Extent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		for _, e := range list {
			e.Release()
		}
		return
	}
	g := shm.Grant{Count: uint32(len(list))}
	for i, e := range list {
		p.held[e.ID] = &holding{extent: e, role: roleGranted, times: 1}
		g.Extents[i] = e.ID
	}
	var buf [256]byte
	p.out.send(shm.AppendFrame(buf[:0], shm.MsgGrant, len(list), &g), list...)
}

// take removes a granted extent from the participant's holdings and reports
// whether the job can use it. If h is not nil, the caller owns its reference to
// the extent.
func (j *job) take(p *participant, id uint64) (h *holding, usable bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h = p.held[id]
	if h == nil || h.role != roleGranted {
		return nil, false, violation("extent %d was not granted", id)
	}
	delete(p.held, id)
	if j.failed != nil {
		return h, false, nil
	}
	if p.fed || j.exec != nil {
		err = violation("an extent was filled after FED or RUN")
	}
	return h, err == nil, err
}

// takeOver takes a granted extent from the participant for the job, unless the job has
// failed. It calls check without j.mu; the join cannot start meanwhile, because p has not
// sent FED. It calls add with j.mu.
func (j *job) takeOver(p *participant, id uint64, check func(extent []byte) error, add func(*memory.Extent) error) error {
	h, usable, err := j.take(p, id)
	if h == nil {
		return err
	}
	if usable {
		err = check(h.extent.Data)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	added := false
	if usable && err == nil && j.failed == nil {
		err = add(h.extent)
		added = err == nil
	}
	if !added {
		h.extent.Release()
	}
	return err
}

// filled takes over a batch of an input (FILLED).
func (j *job) filled(p *participant, v *shm.Filled) error {
	return j.fill(p, v, func(joincore.Segment, *memory.Extent) error { return nil })
}

// fill takes over a batch of an input. It calls also, with j.mu, for what is done with the
// batch besides.
func (j *job) fill(p *participant, v *shm.Filled, also func(joincore.Segment, *memory.Extent) error) error {
	var seg joincore.Segment
	var bytes int64
	check := func(extent []byte) (err error) {
		seg, bytes, err = j.segment(extent, v)
		return err
	}
	return j.takeOver(p, v.Extent, check, func(e *memory.Extent) error {
		in := &j.fed[v.Input]
		if in.complete || p.done[v.Input] {
			return violation("a batch of input %d came after INPUT_FED", v.Input)
		}
		if err := also(seg, e); err != nil {
			return err
		}
		in.relation.Segments = append(in.relation.Segments, seg)
		in.extents = append(in.extents, e)
		j.rowsIn += int64(seg.Rows)
		j.bytesIn += bytes
		return nil
	})
}

// segment checks a batch and returns it as a segment of the input, and the
// number of bytes of its values.
func (j *job) segment(extent []byte, v *shm.Filled) (seg joincore.Segment, bytes int64, err error) {
	if int64(v.Input) >= int64(len(j.fed)) {
		return seg, 0, violation("FILLED for input %d, but the job has %d", v.Input, len(j.fed))
	}
	if mirrored(&j.inputs[v.Input]) {
		return seg, 0, violation("a batch of input %d, which is mirrored", v.Input)
	}
	view, err := shm.ReadBatch(extent, j.fed[v.Input].shapes)
	if err != nil {
		return seg, 0, violation("input %d: %v", v.Input, err)
	}
	if view.Rows == 0 || int64(view.Rows) != int64(v.Rows) {
		return seg, 0, violation("input %d: FILLED announces %d rows, the batch has %d", v.Input, v.Rows, view.Rows)
	}
	seg = joincore.Segment{Rows: view.Rows, Columns: make([]joincore.Vector, len(view.Columns))}
	for i := range view.Columns {
		c := &view.Columns[i]
		seg.Columns[i] = joincore.Vector{Values: c.Values, Validity: c.Validity, Heap: c.Heap}
	}
	return seg, view.Bytes(), nil
}

// fedBy records that a participant has fed all its rows (FED).
func (j *job) fedBy(p *participant, v *shm.Fed) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	if p.fed || j.exec != nil {
		return violation("FED twice, or after RUN")
	}
	p.fed = true
	j.completeInputs()
	p.stats.FedRows, p.stats.FedBytes = v.Rows, v.Bytes
	p.stats.FeedUS, p.stats.WaitUS = v.FeedUS, v.WaitUS
	var buf [shm.FrameSize]byte
	p.out.send(shm.AppendEmpty(buf[:0], shm.MsgFedOK))
	return nil
}

// chainFilled takes over an extent of the participant's chain (CHAIN_FILLED).
func (j *job) chainFilled(p *participant, v *shm.ChainFilled) error {
	check := func(extent []byte) error {
		header, _, err := shm.ReadChainExtent(extent)
		if err != nil {
			return violation("%v", err)
		}
		if header.Chain != v.Chain || header.Bytes != v.Bytes || v.Reserved != 0 {
			return violation("the header of chain extent %#x differs from CHAIN_FILLED", v.Chain)
		}
		return nil
	}
	return j.takeOver(p, v.Extent, check, func(e *memory.Extent) error {
		if shm.ChainParticipant(v.Chain) != p.stats.Participant {
			return violation("extent %#x does not belong to the chain of participant %d", v.Chain, p.stats.Participant)
		}
		if j.chains[v.Chain].extent != nil {
			return violation("chain extent %#x arrived twice", v.Chain)
		}
		j.chains[v.Chain] = chainExtent{e, v.Bytes}
		j.bytesIn += int64(v.Bytes)
		return nil
	})
}

// chainExtent is an extent of a participant's chain and its number of data
// bytes.
type chainExtent struct {
	extent *memory.Extent
	bytes  uint32
}

// chainGet sends an extent of a chain (CHAIN_GET). The participant holds it
// until it sends RELEASE.
func (j *job) chainGet(p *participant, v *shm.ChainGet) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	c := j.chains[v.Chain]
	if c.extent == nil {
		return violation("no chain has extent %#x", v.Chain)
	}
	p.hold(c.extent, roleChain)
	m := shm.ChainExtent{Extent: c.extent.ID, Chain: v.Chain, Bytes: c.bytes}
	p.out.send(shm.AppendFrame(nil, shm.MsgChainExtent, 1, &m), c.extent)
	return nil
}

// freeChains releases the extents of all chains. The caller holds j.mu.
func (j *job) freeChains() {
	for _, c := range j.chains {
		c.extent.Release()
	}
	j.chains = map[uint64]chainExtent{}
}
