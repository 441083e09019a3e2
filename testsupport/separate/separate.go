// Package separate is a provider for tests. It executes with another provider,
// but behaves like a device across a bus, or like one of several: its memory is
// separate and poisoned; steps and streams are asynchronous; handles become
// stale and are useless to other devices; and results are invisible on the host
// before their future was awaited. An algorithm that bypasses the interface
// fails here.
package separate

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Provider wraps another provider with Chunked devices.
type Provider struct {
	Inner  device.Provider
	Number device.Location // of the device that it simulates
}

// New returns the providers of the given number of devices, numbered from 0.
func New(inner device.Provider, devices int) []*Provider {
	var out []*Provider
	for i := range devices {
		out = append(out, &Provider{Inner: inner, Number: device.Location(i)})
	}
	return out
}

// Name returns the inner provider's name with the prefix "separate-".
func (p *Provider) Name() string { return "separate-" + p.Inner.Name() }

// Check asks the inner provider.
func (p *Provider) Check(plan *joincore.Checked) error { return device.Check(p.Inner, plan) }

// Open starts an execution.
func (p *Provider) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	m := &memory{mem: mem}
	inner, err := p.Inner.Open(m, opt)
	if err != nil {
		return nil, err
	}
	return &dev{inner: inner.(device.Chunked), at: p.Number, mem: m}, nil
}

type dev struct {
	inner   device.Chunked
	at      device.Location
	mem     *memory
	copies  [][]byte
	streams atomic.Int64   // open streams
	steps   sync.WaitGroup // running steps
	lock    sync.Mutex
	last    chan struct{} // closed when the last step is done; nil: there was none
}

func (d *dev) At() device.Location { return d.at }
func (d *dev) Streams() int        { return d.inner.Streams() }
func (d *dev) ChunkRows() int      { return d.inner.ChunkRows() }

// Import copies the relation to the device.
func (d *dev) Import(input int, r *joincore.Relation) (device.Space, error) {
	far := &joincore.Relation{Columns: r.Columns}
	for _, s := range r.Segments {
		t := joincore.Segment{Rows: s.Rows}
		for _, v := range s.Columns {
			var w joincore.Vector
			for _, part := range []struct{ from, to *[]byte }{
				{&v.Values, &w.Values}, {&v.Validity, &w.Validity}, {&v.Heap, &w.Heap},
			} {
				b, err := d.mem.copy(*part.from)
				if err != nil {
					return nil, err
				}
				*part.to = b
				if b != nil {
					d.copies = append(d.copies, b)
				}
			}
			t.Columns = append(t.Columns, w)
		}
		far.Segments = append(far.Segments, t)
	}
	inner, err := d.inner.Import(input, far)
	return d.there(inner, err)
}

func (d *dev) NewTuples(inputs []int, key *device.Key) (device.Tuples, error) {
	inner, err := d.inner.NewTuples(inputs, key)
	return d.there(inner, err)
}

func (d *dev) KeyRange(ctx context.Context, s device.Space, key *device.Key) (device.KeyRange, error) {
	inner, err := d.use(s).await(ctx)
	if err != nil {
		return device.KeyRange{}, err
	}
	return d.inner.KeyRange(ctx, inner, key)
}

func (d *dev) Partition(ctx context.Context, from device.Space, spec device.TransformSpec) (device.Partitions, error) {
	return d.step(ctx, from, func(inner device.Space) (device.Space, error) { return d.inner.Partition(ctx, inner, spec) }), nil
}

func (d *dev) Sort(ctx context.Context, from device.Space, spec device.TransformSpec) (device.Sorted, error) {
	return d.step(ctx, from, func(inner device.Space) (device.Space, error) { return d.inner.Sort(ctx, inner, spec) }), nil
}

func (d *dev) MergePath(ctx context.Context, build, probe device.Sorted, parts int) ([]device.MergePoint, error) {
	b, err := d.use(build).await(ctx)
	if err != nil {
		return nil, err
	}
	p, err := d.use(probe).await(ctx)
	if err != nil {
		return nil, err
	}
	return d.inner.MergePath(ctx, b.(device.Sorted), p.(device.Sorted), parts)
}

func (d *dev) Build(ctx context.Context, from device.Space, m *device.Match) (device.Table, error) {
	t := d.newTable()
	start(d, &t.work, reading(ctx, d.use(from), func(inner device.Space) (device.Table, error) { return d.inner.Build(ctx, inner, m) }))
	return t, nil
}

// Close poisons the inputs and checks that all streams are closed.
func (d *dev) Close() {
	if n := d.streams.Load(); n != 0 {
		panic(fmt.Sprintf("device closed before %d streams", n))
	}
	d.steps.Wait()
	d.inner.Close()
	for _, b := range d.copies {
		d.mem.Free(b[:max(len(b), 1)])
	}
	d.copies = nil
}
