// Package separate is a provider for tests. It executes with another one, but
// behaves as a device on the far side of a bus: its memory is its own and
// poisoned, streams work behind the caller's back, handles go stale, and
// nothing of a result is visible on the host before its count was awaited.
// An algorithm that reaches through the interface fails here.
package separate

import (
	"context"
	"fmt"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Provider wraps another provider, whose devices are Chunked.
type Provider struct{ Inner device.Provider }

// Name returns the inner provider's name, marked.
func (p *Provider) Name() string { return "separate-" + p.Inner.Name() }

// Open starts an execution.
func (p *Provider) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	m := &memory{mem: mem}
	inner, err := p.Inner.Open(m, opt)
	if err != nil {
		return nil, err
	}
	return &dev{inner: inner.(device.Chunked), mem: m}, nil
}

type dev struct {
	inner   device.Chunked
	mem     *memory
	copies  [][]byte
	streams atomic.Int64 // open
}

func (d *dev) Streams() int   { return d.inner.Streams() }
func (d *dev) ChunkRows() int { return d.inner.ChunkRows() }

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
	s, err := d.inner.Import(input, far)
	return wrap(s, err)
}

func (d *dev) NewTuples(inputs []int, key *device.Key) (device.Tuples, error) {
	s, err := d.inner.NewTuples(inputs, key)
	return wrap(s, err)
}

func (d *dev) KeyRange(ctx context.Context, s device.Space, key *device.Key) (device.KeyRange, error) {
	return d.inner.KeyRange(ctx, open(s), key)
}

func (d *dev) Partition(ctx context.Context, from device.Space, spec device.PartitionSpec) (device.Partitions, error) {
	s, err := d.inner.Partition(ctx, open(from), spec)
	return wrap(s, err)
}

func (d *dev) Sort(ctx context.Context, from device.Space, spec device.SortSpec) (device.Sorted, error) {
	s, err := d.inner.Sort(ctx, open(from), spec)
	return wrap(s, err)
}

func (d *dev) MergePath(ctx context.Context, build, probe device.Sorted, parts int) ([]device.MergePoint, error) {
	return d.inner.MergePath(ctx, open(build).(device.Sorted), open(probe).(device.Sorted), parts)
}

func (d *dev) Build(ctx context.Context, from device.Space, m *device.Match) (device.Table, error) {
	t, err := d.inner.Build(ctx, open(from), m)
	if err != nil {
		return nil, err
	}
	return &table{inner: t}, nil
}

// Close poisons the inputs and checks that no stream is left.
func (d *dev) Close() {
	if n := d.streams.Load(); n != 0 {
		panic(fmt.Sprintf("device closed before %d streams", n))
	}
	d.inner.Close()
	for _, b := range d.copies {
		d.mem.Free(b[:max(len(b), 1)])
	}
	d.copies = nil
}

// space is a handle; it is dead after Release.
type space struct {
	inner device.Space
	dead  atomic.Bool
}

func wrap(s device.Space, err error) (*space, error) {
	if err != nil {
		return nil, err
	}
	return &space{inner: s}, nil
}

// open returns what a handle stands for.
func open(s device.Space) device.Space {
	h, ok := s.(*space)
	if !ok {
		panic(fmt.Sprintf("a %T is not a handle of this device", s))
	}
	if h.dead.Load() {
		panic("space used after its release")
	}
	return h.inner
}

func (s *space) Segments() []int { return open(s).Segments() }

func (s *space) Bounds(ctx context.Context) ([]int64, error) {
	return open(s).(device.Partitions).Bounds(ctx)
}

func (s *space) Keyed(ctx context.Context) (int64, error) {
	return open(s).(device.Sorted).Keyed(ctx)
}

func (s *space) Release() {
	open(s).Release()
	s.dead.Store(true)
}

type table struct {
	inner device.Table
	dead  atomic.Bool
}

func (t *table) Release() {
	t.inner.Release()
	t.dead.Store(true)
}

func openTable(t device.Table) device.Table {
	if t.(*table).dead.Load() {
		panic("table used after its release")
	}
	return t.(*table).inner
}
