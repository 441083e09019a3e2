package sidecar

import (
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/memory"
)

// Kept columns: inputs of which the daemon has columns from earlier jobs, and whose
// participants feed only the blocks that it does not serve.

// keptMemory gives the store of kept columns extents, which workers can read like those of
// jobs.
type keptMemory struct{ srv *Server }

func (m keptMemory) ExtentSize() int64 { return m.srv.store.ExtentSize() }

func (m keptMemory) Extent() (kept.Extent, error) {
	e, err := m.srv.keeper.Extent()
	if err != nil {
		return kept.Extent{}, err
	}
	return kept.Extent{Data: e.Data, Release: e.Release}, nil
}

// keptInput is an input in the mode KEPT. It is guarded by job.mu; its lease has a lock of its
// own.
type keptInput struct {
	lease    *kept.Lease
	answer   []byte // KEPT, for those that attach
	groups   int
	segments []joincore.Segment // what is served, once all participants have fed the input
	settled  bool               // segments are set
	users    int                // the job, and the filters that are being made
	complete bool               // all participants have fed
}

// release ends a use. The lease ends with the last one, because only it keeps the segments.
func (k *keptInput) release() {
	if k.users--; k.users == 0 {
		k.lease.Close(k.complete)
	}
}

// settle returns the rows that are served.
func (k *keptInput) settle() []joincore.Segment {
	if !k.settled {
		k.segments, k.settled = k.lease.Segments(), true
	}
	return k.segments
}

// pages answers what is kept of an input (PAGES). Only the participant that has opened the job
// may ask, before any other attaches: these have to learn the same.
func (j *job) pages(p *participant, body []byte) error {
	v, groups, err := shm.DecodePages(body)
	if err != nil {
		return violation("%v", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	if int64(v.Input) >= int64(len(j.inputs)) || !j.inputs[v.Input].Kept {
		return violation("PAGES of input %d, which may not be kept", v.Input)
	}
	if in := &j.fed[v.Input]; in.kept != nil || in.asked || p.feeding || p.fed || j.exec != nil || len(j.participants) > 1 {
		return violation("PAGES of input %d twice, or too late", v.Input)
	}
	j.fed[v.Input].asked = true
	answer := shm.AppendKept(nil, &shm.Kept{Input: v.Input, Blocks: v.Blocks}, nil)
	if lease := j.lease(&v, groups); lease != nil {
		answer = j.keep(&v, lease)
	}
	p.out.send(answer)
	return nil
}

// lease returns the job's hold on what is kept of an input, nil if there is nothing to gain.
func (j *job) lease(v *shm.Pages, groups []shm.Group) *kept.Lease {
	if j.srv.kept == nil || j.srv.unkept.has(j.decoded.Text) {
		return nil
	}
	in := &j.inputs[v.Input]
	r := &kept.Request{
		Table: kept.Table{
			System: j.cluster, Start: v.ServerStart, Timeline: v.Timeline,
			Database: v.Database, Tablespace: v.Tablespace, File: v.File,
		},
		Blocks: v.Blocks, Flushed: v.Flushed, Now: time.Now(), Name: in.Name, Job: j.id, PID: j.pid,
	}
	if v.Flags&shm.PagesAlways != 0 {
		r.Policy = kept.Always
	}
	columns := j.decoded.Columns(int(v.Input))
	for i, c := range in.Columns {
		r.Columns = append(r.Columns, kept.Column{
			Attnum: c.Attnum, Type: c.Type, Typmod: c.Typmod, Collation: c.Collation, Form: c.Form, Scale: c.Scale, Physical: columns[i],
		})
	}
	for i := range groups {
		r.Groups = append(r.Groups, kept.Group{LSN: groups[i].LSN, Visible: groups[i].Visible[:]})
	}
	l := j.srv.kept.Open(r)
	if !j.reserveFor(v, l) || !l.Kept() {
		l.Close(false)
		return nil
	}
	return l
}

// reserveFor changes the reservation to what an input in the mode KEPT is expected to need:
// what is served needs no memory of the job, what is captured is fed unfiltered. If there is
// no memory for the latter, nothing is captured. It reports whether the mode can be used.
func (j *job) reserveFor(v *shm.Pages, l *kept.Lease) bool {
	size := float64(j.srv.store.ExtentSize())
	fed := float64(l.Unserved()) / float64(v.Blocks)
	before := j.extents(int(v.Input))
	need := func(share float64) int64 {
		extents := fed*share + float64(j.open.Participants) + 1
		return int64((extents - before) * size)
	}
	if l.Capture() && j.account.Resize(need(max(before, float64(v.Blocks)*heapBlock/size))) {
		return true
	}
	l.Decline()
	return j.account.Resize(min(0, need(before)))
}

// heapBlock is the size of a block of a table, in bytes: about what its rows take when all its
// columns are fed.
const heapBlock = 8192

// keep puts an input into the mode KEPT and returns the answer to PAGES.
func (j *job) keep(v *shm.Pages, l *kept.Lease) []byte {
	in := &j.fed[v.Input]
	in.relation.Columns = j.decoded.Columns(int(v.Input))
	in.shapes = nil
	for _, c := range in.relation.Columns {
		in.shapes = append(in.shapes, shapeOf(c))
	}
	m := shm.Kept{Input: v.Input, Mode: shm.FeedKept, Blocks: v.Blocks}
	if l.Capture() {
		m.Flags = shm.KeptCapture
	}
	states := make([]shm.GroupState, shm.Groups(v.Blocks))
	for i := range states {
		states[i] = shm.GroupState(l.State(i))
	}
	in.kept = &keptInput{lease: l, groups: len(states), users: 1}
	in.kept.answer = shm.AppendKept(nil, &m, states)
	return in.kept.answer
}

// keptGet tells a participant that has attached what is kept of an input (KEPT_GET).
func (j *job) keptGet(p *participant, v *shm.KeptGet) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failed != nil:
		return nil
	case v.Reserved != 0 || int64(v.Input) >= int64(len(j.fed)) || p.fed || j.exec != nil:
		return violation("KEPT_GET of input %d", v.Input)
	}
	p.feeding = true // what it claims from now on, nobody else feeds
	if k := j.fed[v.Input].kept; k != nil {
		p.out.send(slices.Clone(k.answer))
	} else {
		p.out.send(shm.AppendKept(nil, &shm.Kept{Input: v.Input}, nil))
	}
	return nil
}

// keptOf returns an input in the mode KEPT that a participant may still feed. The caller holds
// j.mu.
func (j *job) keptOf(p *participant, m shm.Message, input uint32) (*keptInput, error) {
	if int64(input) >= int64(len(j.fed)) || j.fed[input].kept == nil {
		return nil, violation("%s of input %d, which is not kept", m, input)
	}
	if p.fed || j.exec != nil || p.done[input] || j.fed[input].complete {
		return nil, violation("%s of input %d after the end of its feed", m, input)
	}
	return j.fed[input].kept, nil
}

// blocksGet says which blocks of a group are served (BLOCKS_GET).
func (j *job) blocksGet(p *participant, v *shm.BlocksGet) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	k, err := j.keptOf(p, shm.MsgBlocksGet, v.Input)
	if err != nil {
		return err
	}
	if int64(v.Group) >= int64(k.groups) {
		return violation("BLOCKS_GET of group %d of %d", v.Group, k.groups)
	}
	p.feeding = true
	served, prove, lsns := k.lease.Blocks(int(v.Group))
	p.out.send(shm.AppendBlocks(nil, &shm.Blocks{
		Input: v.Input, Group: v.Group, Kept: shm.Bitmap(served), Prove: shm.Bitmap(prove),
	}, lsns))
	return nil
}

// proved records blocks that a participant has found unchanged (PROVED).
func (j *job) proved(p *participant, v *shm.Proved) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	k, err := j.keptOf(p, shm.MsgProved, v.Input)
	if err != nil {
		return err
	}
	p.feeding = true
	if err := k.lease.Proved(int(min(v.Group, shm.MaxGroups)), v.Blocks[:]); err != nil {
		return violation("input %d: %v", v.Input, err)
	}
	return nil
}

// captured takes over a batch of whole blocks (CAPTURED), which is fed like any other and is
// also kept.
func (j *job) captured(p *participant, body []byte) error {
	v, list, err := shm.DecodeCaptured(body)
	if err != nil {
		return violation("%v", err)
	}
	blocks := make([]kept.Block, len(list))
	for i, b := range list {
		blocks[i] = kept.Block{Number: b.Block, First: b.FirstRow, LSN: b.LSN}
	}
	filled := &shm.Filled{Extent: v.Extent, Input: v.Input, Rows: v.Rows}
	return j.fill(p, filled, func(seg joincore.Segment, e *memory.Extent) error {
		k, err := j.keptOf(p, shm.MsgCaptured, v.Input)
		if err != nil {
			return err
		}
		if err := k.lease.Captured(seg, blocks, e); err != nil {
			return violation("input %d: %v", v.Input, err)
		}
		return nil
	})
}

// keptMask returns the inputs in the mode KEPT, as planjson.Job.PlanFor wants them.
func (j *job) keptMask() (mask uint64) {
	for i := range j.fed {
		if j.fed[i].kept != nil {
			mask |= 1 << i
		}
	}
	return mask
}

// serveKept adds what is served to the inputs and selects their plan, once all participants
// have fed. The caller holds j.mu.
func (j *job) serveKept() error {
	mask := j.keptMask()
	if mask == 0 {
		return nil
	}
	plan, err := j.decoded.PlanFor(mask)
	if err != nil {
		return failf(shm.FailInternal, "the plan of kept inputs: %v", err)
	}
	j.plan, j.mask = plan, mask
	for i := range j.fed {
		if k := j.fed[i].kept; k != nil {
			k.complete = true
			r := &j.fed[i].relation
			r.Segments = kept.Cut(r.Columns, append(slices.Clone(k.settle()), r.Segments...))
		}
	}
	return nil
}

// freeKept ends the job's leases. The caller holds j.mu and ensures that no join reads them.
func (j *job) freeKept() {
	for i := range j.fed {
		if k := j.fed[i].kept; k != nil && !j.fed[i].dropped {
			j.fed[i].dropped = true
			k.release()
		}
	}
	j.srv.budget.Relieve()
}
