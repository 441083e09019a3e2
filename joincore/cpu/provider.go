// Package cpu is the provider that executes on the host's cores. It reads inputs in
// place, a stream runs on the goroutine that uses it, and every count is known when
// the call that returns it has returned.
//
// Execution is vectorised: an operation handles a chunk of a few thousand rows whose
// positions, keys and hash slots stay in the core's private caches.
//
// The package builds only for the platforms that raw.go names: their byte order is little-endian.
package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Provider executes on all cores.
type Provider struct{}

// New returns the provider.
func New() *Provider { return &Provider{} }

// Name returns "cpu".
func (*Provider) Name() string { return "cpu" }

// Open starts an execution. Column-sized memory comes from mem.
func (*Provider) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	d := &dev{mem: joincore.NewAccount("cores", mem), streams: opt.Streams, chunk: opt.ChunkRows, seed: opt.Seed, collide: opt.Collide, groups: opt.Groups, turns: opt.Turn(), inputs: make([]*space, opt.Inputs)}
	if d.streams <= 0 {
		d.streams = runtime.GOMAXPROCS(0)
	}
	if d.chunk <= 0 {
		d.chunk = device.ChunkRows
	}
	if d.seed == 0 { // random, so that users cannot construct colliding keys
		d.seed = rand.Uint64()
	}
	return d, nil
}

type dev struct {
	mem     *joincore.Account
	streams int
	chunk   int
	seed    uint64
	groups  int // of a table; 0: as the plan of an aggregate says
	collide bool
	turns   device.Turns
	inputs  []*space // by number

	lock     sync.Mutex
	idle     []*stream             // closed
	compiled map[expressionKey]any // values and conditions
}

func (d *dev) At() device.Location { return device.Host }
func (d *dev) Streams() int        { return d.streams }
func (d *dev) ChunkRows() int      { return d.chunk }

// alloc returns accounted memory of unspecified content for n values.
func alloc[T word](d *dev, n int) ([]T, error) {
	b, err := d.mem.Alloc(int64(max(n, 1)) * int64(size[T]()))
	if err != nil {
		return nil, err
	}
	return view[T](b)[:n], nil
}

// free gives back memory from alloc; v may be nil.
func free[T word](d *dev, v []T) {
	if v != nil {
		d.mem.Free(unsafe.Slice(start(v), 1)) // by its first byte
	}
}

// Close frees all remaining memory.
func (d *dev) Close() { d.mem.Close() }

// parallel runs tasks 0..n-1 on all streams. It returns the first error.
func (d *dev) parallel(ctx context.Context, n int, task func(s *stream, i int) error) error {
	tasks := device.NewTasks(n)
	return device.Workers(ctx, min(d.streams, n), func(ctx context.Context, _ int) error {
		s := d.newStream()
		defer s.Close()
		for i := range tasks.Deal(ctx, d.turns) {
			if err := task(s, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func asSpace(s device.Space) *space {
	if sp, ok := s.(*space); ok {
		return sp
	}
	panic(fmt.Sprintf("a %T is not a space of this provider", s))
}
