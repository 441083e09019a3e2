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

// pages takes the pages of a leaf of an input (PAGES), and answers what is kept of the input
// when it has those of the last leaf. Only the participant that has opened the job may send
// them, before any other attaches: these have to learn the same.
func (j *job) pages(p *participant, body []byte) error {
	v, pages, err := shm.DecodePages(body)
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
	in := &j.fed[v.Input]
	if in.asked || p.feeding || p.fed || j.exec != nil || len(j.participants) > 1 {
		return violation("PAGES of input %d twice, or too late", v.Input)
	}
	if in.asking == nil {
		in.asking = &keptInput{users: 1}
	}
	k := in.asking
	if len(pages.Attnums) != len(j.inputs[v.Input].Columns) {
		return violation("PAGES of input %d: %d numbers of %d columns", v.Input, len(pages.Attnums), len(j.inputs[v.Input].Columns))
	}
	leaf := keptLeaf{relation: v.Relation, blocks: v.Blocks, rows: min(v.Rows, uint64(v.Blocks)*blockRows), first: k.groups, groups: len(pages.Groups)}
	if k.groups+leaf.groups > shm.MaxInputGroups || k.has(v.Relation) {
		return violation("PAGES of input %d: table %d came twice, or there are more than %d groups", v.Input, v.Relation, shm.MaxInputGroups)
	}
	leaf.lease = j.lease(&v, pages)
	k.add(leaf)
	if v.Flags&shm.PagesMore == 0 {
		in.asked = true
		p.out.send(j.decide(&v))
	}
	return nil
}

// lease returns the job's hold on what is kept of a leaf, nil if there is nothing to gain.
func (j *job) lease(v *shm.Pages, pages *shm.Leaf) *kept.Lease {
	if j.srv.kept == nil || j.srv.unkept.has(j.decoded.Text) {
		return nil
	}
	in := &j.inputs[v.Input]
	r := &kept.Request{
		Table: kept.Table{
			System: j.cluster, Start: v.ServerStart, Timeline: v.Timeline,
			Database: v.Database, Tablespace: v.Tablespace, File: v.File,
		},
		Blocks: v.Blocks, Flushed: v.Flushed, Now: time.Now(), Name: pages.Name, Job: j.id, PID: j.pid,
	}
	if v.Flags&shm.PagesAlways != 0 {
		r.Policy = kept.Always
	}
	columns := j.decoded.Columns(int(v.Input))
	for i, c := range in.Columns {
		r.Columns = append(r.Columns, kept.Column{
			Attnum: pages.Attnums[i], Type: c.Type, Typmod: c.Typmod, Collation: c.Collation, Form: c.Form, Scale: c.Scale, Physical: columns[i],
		})
	}
	for i := range pages.Groups {
		r.Groups = append(r.Groups, kept.Group{LSN: pages.Groups[i].LSN, Visible: pages.Groups[i].Visible[:]})
	}
	l := j.srv.kept.Open(r)
	if !l.Kept() {
		l.Close(false)
		return nil
	}
	return l
}

// decide chooses the mode of an input, all leaves of which are known, and returns the answer to
// PAGES. v is on the last leaf.
func (j *job) decide(v *shm.Pages) []byte {
	in := &j.fed[v.Input]
	k := in.asking
	in.asking = nil
	if !j.reserveFor(v, k) || !k.drop() {
		k.release()
		return shm.AppendKept(nil, &shm.Kept{Input: v.Input}, nil, nil)
	}
	in.kept = k
	in.relation.Columns = j.decoded.Columns(int(v.Input))
	in.shapes = shapesOf(in.relation.Columns)
	leaves, states := k.states()
	k.answer = shm.AppendKept(nil, &shm.Kept{Input: v.Input, Mode: shm.FeedKept}, leaves, states)
	return slices.Clone(k.answer)
}

// reserveFor changes the reservation to what an input in the mode KEPT is expected to need:
// what is served needs no memory of the job, what is captured is fed unfiltered. If there is
// no memory for all of the latter, a part of it is captured. It reports whether the mode can be used.
func (j *job) reserveFor(v *shm.Pages, k *keptInput) bool {
	size := float64(j.srv.store.ExtentSize())
	in := int(v.Input)
	least := leastBytes(j.fed[in].shapes)
	hidden := leastBytes(shapesOf(j.decoded.Columns(in))) - least
	rowBytes := max(least, j.inputs[in].RowBytes) + hidden
	blocks, unserved, whole, _ := k.blocks(rowBytes)
	all := float64(blocks) + float64(v.Others)
	before := j.extents(in)
	need := func(extents float64) int64 {
		return int64((extents + float64(j.open.Participants) + 1 - before) * size)
	}
	fed := (float64(unserved) + float64(v.Others)) / all
	for part := int64(1); k.captures() && part <= leastCapture; part *= 2 { // also if all is served that is not found changed
		if part > 1 {
			k.captureFirst(whole / part)
		}
		_, _, captured, bytes := k.blocks(rowBytes)
		rest := fed - float64(captured)/all
		if j.account.Resize(need(rest*before + max(before*float64(captured)/all, bytes/size))) {
			return true
		}
	}
	k.decline()
	return j.account.Resize(min(0, need(fed*before)))
}

// leastCapture is the part of what an input could capture below which it captures nothing.
const leastCapture = 64

// blockRows is the most rows that a block of a table has (MaxHeapTuplesPerPage).
const blockRows = 291

// heapBlock is the size of a block of a table, in bytes: the most that its rows take, or nearly.
const heapBlock = 8192

// keptGet tells a participant that has attached what is kept of an input (KEPT_GET).
func (j *job) keptGet(p *participant, v *shm.KeptGet) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failed != nil:
		return nil
	case v.Reserved != 0 || int64(v.Input) >= int64(len(j.fed)) || mirrored(&j.inputs[v.Input]) || p.fed || j.exec != nil:
		return violation("KEPT_GET of input %d", v.Input)
	}
	p.feeding = true // what it claims from now on, nobody else feeds
	if k := j.fed[v.Input].kept; k != nil {
		p.out.send(slices.Clone(k.answer))
	} else {
		p.out.send(shm.AppendKept(nil, &shm.Kept{Input: v.Input}, nil, nil))
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
	leaf, group := k.leafOf(v.Group)
	if leaf == nil {
		return violation("BLOCKS_GET of group %d of %d, of which nothing is kept", v.Group, k.groups)
	}
	p.feeding = true
	served, prove, lsns := leaf.Blocks(group)
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
	leaf, group := k.leafOf(v.Group)
	if leaf == nil {
		return violation("PROVED of group %d of %d, of which nothing is kept", v.Group, k.groups)
	}
	if err := leaf.Proved(group, v.Blocks[:]); err != nil {
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
	filled := &shm.Filled{Extent: v.Extent, Input: v.Input, Rows: v.Rows}
	return j.fill(p, filled, func(seg joincore.Segment, e *memory.Extent) error {
		k, err := j.keptOf(p, shm.MsgCaptured, v.Input)
		if err != nil {
			return err
		}
		if err := k.captured(seg, list, e); err != nil {
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
		in := &j.fed[i]
		if in.kept != nil && !in.dropped {
			in.dropped = true
			in.kept.release()
		}
		if in.asking != nil {
			in.asking.release()
			in.asking = nil
		}
	}
	j.srv.budget.Relieve()
}
