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
	// Bytes is the memory that each GPU has for rows and packets; 0: none, for copies of memory that the
	// caller has, over single hops.
	Bytes int64
	// Staged has all copies between different devices pass through host memory.
	Staged bool
	// Host provides that memory; nil: it is allocated page-locked.
	Host HostMemory
	// ByThreads is the most bytes of a copy that threads execute; copy engines execute
	// longer ones. 0: engines execute all.
	ByThreads int64
	// Emulate makes copies take at least as long as the links of the mesh allow.
	Emulate bool
}

// HostMemory provides host memory for copies. free takes it back when no copy uses it any more.
type HostMemory func(bytes int64) (memory []byte, free func() error, err error)

// Fabric implements live.Fabric over GPUs.
type Fabric struct {
	mesh     *mesh.Mesh
	devices  []*device
	gpus     []*gpu
	channels []*channel // by hop ID
	caps     *caps      // nil: none
}

// gpu is one GPU of the mesh.
type gpu struct {
	device  int // index among the fabric's devices
	context *driver.Context
	arena   *driver.Arena // nil: it has no memory of its own
	pool    *pool
}

// Open opens devices as the GPUs of a mesh. The caller must call Close.
func Open(m *mesh.Mesh, o Options) (_ *Fabric, err error) {
	if len(o.Devices) != m.GPUs() {
		return nil, fmt.Errorf("%d devices for %d GPUs: %w", len(o.Devices), m.GPUs(), joincore.ErrUnsupported)
	}
	f := &Fabric{mesh: m}
	if o.Emulate {
		f.caps = newCaps(m)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	number := map[int]int{} // index of the device of an ordinal
	for _, ordinal := range o.Devices {
		if _, ok := number[ordinal]; ok {
			continue
		}
		c, err := driver.Open(ordinal)
		if err != nil {
			return nil, err
		}
		number[ordinal] = len(f.devices)
		d := &device{context: c}
		f.devices = append(f.devices, d)
		if o.ByThreads > 0 {
			if d.threads, err = newThreads(c, o.ByThreads); err != nil {
				return nil, err
			}
		}
	}
	for _, ordinal := range o.Devices {
		if err := f.addGPU(number[ordinal], o); err != nil {
			return nil, err
		}
	}
	return f, f.addChannels(o)
}

func (f *Fabric) addGPU(number int, o Options) error {
	g := &gpu{device: number, context: f.devices[number].context, pool: newPool(o.Bytes)}
	f.gpus = append(f.gpus, g)
	var peers []*driver.Context
	for i, other := range f.devices {
		if ok, err := other.context.Reaches(g.context); err != nil {
			return err
		} else if ok && i != number && !o.Staged {
			peers = append(peers, other.context)
		}
	}
	if o.Bytes > 0 {
		var err error
		if g.arena, err = g.context.NewArena(o.Bytes, peers...); err != nil {
			return fmt.Errorf("device %d: %w", g.context.Info().Ordinal, err)
		}
	}
	return nil
}

// channelsPerPair is how many channels hops between two devices, or within one, share: a copy
// can begin while others end, and several goroutines can queue copies.
const channelsPerPair = 8

// addChannels gives each hop a channel.
func (f *Fabric) addChannels(o Options) error {
	type key struct{ from, to, channel int }
	of := map[key]*channel{}
	hops := map[[2]int]int{} // so far, by devices
	for _, h := range f.mesh.Hops() {
		from, to := f.gpus[h.From].device, f.gpus[h.To].device
		k := key{from, to, hops[[2]int{from, to}] % channelsPerPair}
		hops[[2]int{from, to}]++
		if of[k] == nil {
			l, err := newChannel(f.devices[from].context, f.devices[to].context, f.devices[from].threads, o)
			if err != nil {
				return err
			}
			of[k] = l
			f.devices[from].channels = append(f.devices[from].channels, l)
		}
		f.channels = append(f.channels, of[k])
	}
	return nil
}

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

// Own returns memory of a GPU that the caller has taken elsewhere, to copy from and to. The
// GPU's device can access it, and so can those that reach that device.
func (f *Fabric) Own(gpu int, at driver.Ptr) live.Buffer { return &Memory{gpu: gpu, at: at} }

func (f *Fabric) Alloc(gpu int, bytes int64) (live.Buffer, error) {
	g := f.gpus[gpu]
	place, err := g.pool.take(bytes)
	if err != nil {
		return nil, fmt.Errorf("GPU %d: %w", gpu, err)
	}
	return &Memory{gpu: gpu, at: g.arena.Base() + driver.Ptr(place), bytes: bytes, place: place}, nil
}

func (f *Fabric) Free(b live.Buffer) {
	m := b.(*Memory)
	f.gpus[m.gpu].pool.give(m.place, m.bytes)
}

func (f *Fabric) Copy(h *mesh.Hop, pieces []live.Piece, done func(error)) {
	var until time.Time
	if f.caps != nil {
		bytes := int64(0)
		for _, p := range pieces {
			bytes += p.Bytes
		}
		until = f.caps.ends(time.Now(), h, bytes)
	}
	f.devices[f.gpus[h.From].device].touch()
	f.channels[h.ID].copy(pieces, over{done: done, until: until})
}

func (f *Fabric) Device(gpu int) int { return f.gpus[gpu].device }

func (f *Fabric) Poll(device int) bool { return f.devices[device].poll() }

// Close frees everything. No exchange is under way.
func (f *Fabric) Close() error {
	var errs []error
	for _, d := range f.devices {
		for _, l := range slices.Backward(d.channels) {
			errs = append(errs, l.close())
		}
	}
	for _, g := range slices.Backward(f.gpus) {
		errs = append(errs, g.arena.Close())
	}
	for _, d := range f.devices {
		if d.threads != nil {
			errs = append(errs, d.threads.close())
		}
		errs = append(errs, d.context.Close())
	}
	return errors.Join(errs...)
}
