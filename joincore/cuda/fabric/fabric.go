//go:build cuda

package fabric

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
)

// Options describe a fabric.
type Options struct {
	// Devices are the ordinals of the devices, one for each GPU of the mesh; several
	// may be equal.
	Devices []int
	// Bytes is the memory that each GPU has for rows and packets.
	Bytes int64
	// Staged has all copies between different devices pass through host memory.
	Staged bool
	// Emulate makes copies take at least as long as the links of the mesh allow.
	Emulate bool
}

// Fabric implements multi.Group over GPUs.
type Fabric struct {
	mesh     *mesh.Mesh
	contexts map[int]*driver.Context // by ordinal
	gpus     []*gpu
	hops     []*hop // by ID
	caps     *caps  // nil: none
}

// gpu is one GPU of the mesh.
type gpu struct {
	context *driver.Context
	arena   *driver.Arena
	pool    *pool
	poller  *poller
	stream  *driver.Stream // of uploads and downloads
	turn    chan struct{}  // holds one value: whose turn it is on stream
}

// Open opens devices as the GPUs of a mesh. The caller must call Close.
func Open(m *mesh.Mesh, o Options) (_ *Fabric, err error) {
	if len(o.Devices) != m.GPUs() {
		return nil, fmt.Errorf("%d devices for %d GPUs: %w", len(o.Devices), m.GPUs(), joincore.ErrUnsupported)
	}
	f := &Fabric{mesh: m, contexts: map[int]*driver.Context{}}
	if o.Emulate {
		f.caps = newCaps(m)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, ordinal := range o.Devices {
		if f.contexts[ordinal] == nil {
			if f.contexts[ordinal], err = driver.Open(ordinal); err != nil {
				return nil, err
			}
		}
	}
	for _, ordinal := range o.Devices {
		if err := f.addGPU(ordinal, o); err != nil {
			return nil, err
		}
	}
	hops := m.Hops()
	for i := range hops {
		h, err := f.newHop(&hops[i], o.Staged)
		if err != nil {
			return nil, err
		}
		f.hops = append(f.hops, h)
	}
	return f, nil
}

func (f *Fabric) addGPU(ordinal int, o Options) error {
	g := &gpu{context: f.contexts[ordinal], pool: newPool(o.Bytes), turn: make(chan struct{}, 1)}
	g.turn <- struct{}{}
	f.gpus = append(f.gpus, g)
	var peers []*driver.Context
	for other, c := range f.contexts {
		if ok, err := c.Reaches(g.context); err != nil {
			return err
		} else if ok && other != ordinal && !o.Staged {
			peers = append(peers, c)
		}
	}
	var err error
	if g.arena, err = g.context.NewArena(o.Bytes, peers...); err != nil {
		return fmt.Errorf("device %d: %w", ordinal, err)
	}
	if g.stream, err = g.context.NewStream(); err != nil {
		return err
	}
	g.poller = newPoller(g.context)
	return nil
}

// Mesh implements live.Fabric.
func (f *Fabric) Mesh() *mesh.Mesh { return f.mesh }

// Memory is memory of a GPU.
type Memory struct {
	gpu   int
	at    driver.Ptr
	bytes int64
	place int64 // in the pool
}

// Ptr returns the address.
func (m *Memory) Ptr() driver.Ptr { return m.at }

// Context returns the context of a GPU's device.
func (f *Fabric) Context(gpu int) *driver.Context { return f.gpus[gpu].context }

// Alloc implements live.Fabric.
func (f *Fabric) Alloc(gpu int, bytes int64) (live.Buffer, error) { return f.alloc(gpu, bytes) }

func (f *Fabric) alloc(gpu int, bytes int64) (*Memory, error) {
	g := f.gpus[gpu]
	place, err := g.pool.take(bytes)
	if err != nil {
		return nil, fmt.Errorf("GPU %d: %w", gpu, err)
	}
	return &Memory{gpu: gpu, at: g.arena.Base() + driver.Ptr(place), bytes: bytes, place: place}, nil
}

// Free implements live.Fabric.
func (f *Fabric) Free(b live.Buffer) {
	m := b.(*Memory)
	f.gpus[m.gpu].pool.give(m.place, m.bytes)
}

// Copy implements live.Fabric.
func (f *Fabric) Copy(h *mesh.Hop, pieces []live.Piece, done func(error)) {
	var until time.Time
	if f.caps != nil {
		bytes := int64(0)
		for _, p := range pieces {
			bytes += p.Bytes
		}
		until = f.caps.ends(time.Now(), h, bytes)
	}
	e, err := f.hops[h.ID].copy(pieces)
	w := waiting{event: e, until: until, err: err, done: done}
	f.gpus[h.From].poller.add(w)
}

// Close frees everything. No exchange is under way.
func (f *Fabric) Close() error {
	var errs []error
	for _, g := range f.gpus {
		if g.poller != nil {
			g.poller.close()
		}
	}
	for _, h := range slices.Backward(f.hops) {
		errs = append(errs, h.close())
	}
	for _, g := range slices.Backward(f.gpus) {
		if g.stream != nil {
			errs = append(errs, g.stream.Close())
		}
		if g.arena != nil {
			errs = append(errs, g.arena.Close())
		}
	}
	for _, c := range f.contexts {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
