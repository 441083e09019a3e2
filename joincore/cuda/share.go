//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/device"
)

// sharing is inputs that executions on several devices read whole. When the first
// execution needs a column, each device uploads a part of it over its own link to the host,
// and copies the other parts from the other devices. It waits until all executions take
// part: if it began alone, its link would carry the whole column. An execution that had no
// memory for a column then copies it later, from one that has it.
//
// The host queues all copies of a column while it holds mu, so that columns have the same
// order on all devices, and no stream waits for work that is queued after its own.
type sharing struct {
	inputs []int
	begun  *outofcore.Rendezvous // of each execution, once for each input

	mu    sync.Mutex
	views []*view    // of executions that take part
	reads []peerRead // copies from other devices that may be under way
}

// peerRead is a point of an execution at which it no longer reads memory of the others.
type peerRead struct {
	by    *workspace
	until *driver.Event
}

// share has a view of an input take part, if other executions read the input as well.
func (e *execution) share(v *view) {
	s, ok := e.opt.Common.Share.(*sharing)
	if !ok || !slices.Contains(s.inputs, v.number) {
		return
	}
	e.shares, v.shared = s, s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views = append(s.views, v)
	s.begun.Arrive()
}

// leave waits until other devices no longer read the execution's memory.
func (s *sharing) leave(w *workspace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views = slices.DeleteFunc(s.views, func(v *view) bool { return v.workspace == w })
	for _, r := range s.reads {
		if r.by != w {
			_ = r.until.Sync(context.Background()) // fails only if the device is lost
		}
	}
	s.reads = slices.DeleteFunc(s.reads, func(r peerRead) bool { return r.by == w })
}

// column returns a column of a view that takes part. It is uploaded now if no device has
// it.
func (s *sharing) column(ctx context.Context, v *view, j int) (*column, error) {
	if ctx.Done() != nil { // one that cannot end does not wait
		if err := s.begun.Wait(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := v.ready(j); c != nil {
		return c, nil
	}
	if _, here := v.inDevice(j); here || v.input.Relation.Columns[j].Kind != joincore.Fixed {
		return v.own(ctx, j)
	}
	others := slices.Clone(s.views)
	others = slices.DeleteFunc(others, func(o *view) bool { return o.number != v.number || o == v })
	for _, o := range others {
		from := o.ready(j)
		if _, here := o.inDevice(j); from == nil && here {
			from, _ = o.own(ctx, j)
		}
		if from != nil {
			return s.copyFrom(ctx, v, j, o, from)
		}
	}
	if len(others) == 0 {
		return v.own(ctx, j)
	}
	return s.uploadParts(ctx, v, others, j)
}

// ready returns a column if it is on the device or on its way.
func (v *view) ready(j int) *column {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.columns[j]
}

// copyFrom copies the values of a column from another device that has them.
func (s *sharing) copyFrom(ctx context.Context, v *view, j int, holder *view, from *column) (*column, error) {
	p, err := v.begin(j)
	if err != nil {
		return nil, err
	}
	if err = p.uploadPart(ctx, 0, 0); err == nil {
		err = p.copyPart(holder, from.Values, from.ready, 0, v.rows)
	}
	if err == nil {
		err = s.finish(p)
	}
	return p.end(err)
}

// uploadParts uploads a column for all executions that have memory for it.
func (s *sharing) uploadParts(ctx context.Context, v *view, others []*view, j int) (*column, error) {
	first, err := v.begin(j)
	if err != nil {
		return nil, err
	}
	parts := []*part{first}
	for _, o := range others {
		if p, err := o.begin(j); err == nil { // who has no memory now asks again when it needs the column
			parts = append(parts, p)
		}
	}
	n := int64(len(parts))
	bound := func(i int) int64 { return v.rows * int64(i) / n }
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i, p := range parts {
		wait.Go(func() { errs[i] = p.uploadPart(ctx, bound(i), bound(i+1)) })
	}
	wait.Wait()
	err = errors.Join(errs...)
	for i, p := range parts {
		for k := range parts {
			if from := parts[k]; err == nil && k != i {
				err = p.copyPart(from.view, from.column.Values, from.uploaded, bound(k), bound(k+1))
			}
		}
	}
	for _, p := range parts {
		if err == nil {
			err = s.finish(p)
		}
	}
	// After an error, each device drops its part of the column.
	c, err := first.end(err)
	for _, p := range parts[1:] {
		_, _ = p.end(err)
	}
	return c, err
}

// part is a column under way to one of several devices. Its view is locked.
type part struct {
	*view
	number   int // of the column
	column   *column
	before   int           // allocations of the view
	uploaded *driver.Event // when this device has what it uploads itself
}

// begin locks a view and takes memory for a column.
func (v *view) begin(j int) (*part, error) {
	v.mu.Lock()
	v.workspace.loading.Lock()
	p := &part{view: v, number: j, before: v.memory.Len(), column: &column{}}
	p.column.Width = v.input.Relation.Columns[j].Width
	err := p.prepare()
	if err != nil {
		_, err = p.end(err)
		return nil, err
	}
	return p, nil
}

func (p *part) prepare() (err error) {
	if p.input.Nullable(p.number) {
		if p.column.Validity, err = p.take(p.number, p.rows); err != nil {
			return err
		}
	}
	if p.column.Values, err = p.take(p.number, p.rows*int64(p.column.Width)); err != nil {
		return err
	}
	p.uploaded, err = p.workspace.event()
	return err
}

// uploadPart queues the upload of the values of rows [low, high) and of the validity of
// all rows, which is a small part of the column.
func (p *part) uploadPart(ctx context.Context, low, high int64) error {
	width := int64(p.column.Width)
	err := p.workspace.batched(func() error {
		return p.eachSegment(func(s *joincore.Segment, first int64) error {
			from, to := max(low-first, 0), min(high-first, int64(s.Rows))
			if from >= to {
				return nil
			}
			return p.workspace.copyInput(ctx, p.column.Values+driver.Ptr((first+from)*width), s.Columns[p.number].Values[from*width:to*width])
		})
	})
	if err == nil && p.column.Validity != 0 {
		err = p.loadValidity(ctx, p.number, p.column.Validity, nil)
	}
	if err != nil {
		return err
	}
	w := p.workspace
	return errors.Join(w.upload.stream.Record(p.uploaded), w.peer.Wait(p.uploaded))
}

// copyPart queues a copy of rows [low, high) from the memory of another device, which has
// them after an event.
func (p *part) copyPart(other *view, from driver.Ptr, after *driver.Event, low, high int64) error {
	width, peer := int64(p.column.Width), p.workspace.peer
	if err := peer.Wait(after); err != nil {
		return err
	}
	bytes := (high - low) * width
	p.workspace.copied.Add(bytes)
	return peer.CopyPeer(p.column.Values+driver.Ptr(low*width), from+driver.Ptr(low*width), other.workspace.gpu.context, bytes)
}

// finish notes when the column is complete.
func (s *sharing) finish(p *part) (err error) {
	if p.column.ready, err = p.workspace.event(); err != nil {
		return err
	}
	s.reads = append(s.reads, peerRead{p.workspace, p.column.ready})
	return p.workspace.peer.Record(p.column.ready)
}

// end unlocks the view, which then has the column if there was no error. Otherwise the next
// user of its memory waits for what has been queued.
func (p *part) end(err error) (*column, error) {
	defer p.mu.Unlock()
	defer p.workspace.loading.Unlock()
	if err == nil {
		p.columns[p.number] = p.column
		p.settled(p.number, p.column, nil)
		return p.column, nil
	}
	w := p.workspace
	main := w.main.Stream()
	err = errors.Join(err, w.upload.stream.Then(main), w.peer.Then(main))
	p.memory.ReleaseFrom(p.before)
	p.settled(p.number, nil, err)
	return nil, err
}

// Exchanged returns how many bytes the execution has copied from other devices, or read in their
// memory, and how many links each of them crossed.
func (e *execution) Exchanged() (bytes int64, hops int) {
	if bytes = e.workspace.copied.Load(); bytes > 0 {
		hops = 1
	}
	return bytes, hops
}

// sharers returns how many devices upload the view's columns together.
func (v *view) sharers() int {
	if v.shared == nil {
		return 1
	}
	v.shared.mu.Lock()
	defer v.shared.mu.Unlock()
	n := 0
	for _, o := range v.shared.views {
		if o.number == v.number {
			n++
		}
	}
	return max(n, 1)
}

// Share implements multi's sharer. Devices that cannot access each other's memory share
// nothing: a copy through the host takes longer than an upload.
func (p *Provider) Share(members []device.Provider, inputs []int) []any {
	out := make([]any, len(members))
	if !connected(members) {
		return out
	}
	s := &sharing{inputs: inputs, begun: outofcore.NewRendezvous(len(members) * len(inputs))}
	for i := range out {
		out[i] = s
	}
	return out
}

// connected reports whether members are providers that reach each other's memory.
func connected(members []device.Provider) bool { return checkConnected(members) == nil }

// checkConnected returns an error that names a device and one whose memory it does not reach.
func checkConnected(members []device.Provider) error {
	for _, m := range members {
		for _, n := range members {
			p, ok := m.(*Provider)
			o, also := n.(*Provider)
			if !ok || !also {
				return fmt.Errorf("devices of different providers do not access each other's memory: %w", joincore.ErrUnsupported)
			}
			if o != p && p.apart != "" {
				return fmt.Errorf("%s: %w", p.apart, joincore.ErrUnsupported)
			}
			if from, to := p.Info().Ordinal, o.Info().Ordinal; o != p && !slices.Contains(p.peers, to) {
				return fmt.Errorf("device %d does not access the memory of device %d: %w", from, to, joincore.ErrUnsupported)
			}
		}
	}
	return nil
}

// Exceeds reports whether joins of these build sides are done out of core: an execution has at
// most three quarters of the budget, and a build side that is not divided at most three quarters
// of that (outofcore.splitBits).
func (p *Provider) Exceeds(builds ...*joincore.Relation) bool {
	most := p.budget / 16 * 9
	if p.outOfCore.SplitBytes > 0 {
		most = p.outOfCore.SplitBytes
	}
	return wholeBytes(builds...) > most
}

// SharedJoin returns what executions on the providers get as device.Common.Partition to
// partition and join two inputs together. Each partitions some of the rows in host memory,
// from where every device reads them.
func (p *Provider) SharedJoin(members []device.Provider) []any {
	t := outofcore.NewSharedJoin(len(members), connected(members))
	out := make([]any, len(members))
	for i, m := range members {
		if _, ok := m.(*Provider); !ok {
			return nil
		}
		out[i] = t
	}
	return out
}
