//go:build cuda

package rowid

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// Kernels are those of general.fatbin and of aggregate.fatbin in one context.
type Kernels struct {
	context *driver.Context
	module  *driver.Module
	groups  *driver.Module // of aggregate.fatbin

	text        func(major, minor int) (string, error) // of the kernels to be specialised
	specialised *kernelCache[specialisedKernel]        // nil: none are
	compiling   atomic.Int64                           // nanoseconds that the compiler took
}

// Load loads general.fatbin and aggregate.fatbin.
func Load(c *driver.Context, general, aggregate []byte) (*Kernels, error) {
	k := &Kernels{context: c}
	var err error
	if k.module, err = c.Load(general); err != nil {
		return nil, err
	}
	if k.groups, err = c.Load(aggregate); err != nil {
		return nil, err
	}
	return k, nil
}

// Queue does steps in order on one stream, with the memory of one arena. It
// counts what they cost. It is used by one goroutine at a time.
type Queue struct {
	kernels *Kernels
	stream  *driver.Stream
	arena   *driver.Arena
	// staging is page-locked: copies of it go on while the host does, so a
	// byte of it is written once between two synchronisations.
	staging *driver.Host
	staged  int64
	cost    joincore.DeviceWork
}

// Staging begins with what is read back; then comes what goes to the device.
const (
	stagingBytes  = 1 << 18
	readBackBytes = 256
)

// NewQueue makes a queue over a stream and an arena, which stay the caller's.
func (k *Kernels) NewQueue(s *driver.Stream, a *driver.Arena) (*Queue, error) {
	staging, err := k.context.Pinned(stagingBytes)
	if err != nil {
		return nil, err
	}
	return &Queue{kernels: k, stream: s, arena: a, staging: staging, staged: readBackBytes}, nil
}

// Close frees what the queue has taken for itself, if q is not nil. Nothing may be under way.
func (q *Queue) Close() error {
	if q == nil {
		return nil
	}
	return q.staging.Free()
}

// Arena returns the queue's arena.
func (q *Queue) Arena() *driver.Arena { return q.arena }

// Stream returns the queue's stream.
func (q *Queue) Stream() *driver.Stream { return q.stream }

// Cost returns what the steps took so far.
func (q *Queue) Cost() joincore.DeviceWork { return q.cost }

// WorkSince returns what the queue's steps have cost since Cost returned before,
// and the most of the arena that has been in use.
func (q *Queue) WorkSince(before joincore.DeviceWork) joincore.DeviceWork {
	return joincore.DeviceWork{
		Launches: q.cost.Launches - before.Launches, Syncs: q.cost.Syncs - before.Syncs, Bytes: q.cost.Bytes - before.Bytes, Peak: q.arena.Peak(),
	}
}

// Spend adds what was done on the queue's stream without it.
func (q *Queue) Spend(c joincore.DeviceWork) { q.cost.Add(c) }

// Sync waits for all steps.
func (q *Queue) Sync(ctx context.Context) error {
	q.cost.Syncs++
	if err := q.stream.Sync(ctx); err != nil {
		return err
	}
	q.staged = readBackBytes
	return nil
}

// launch starts a kernel on as many blocks as work items need and the device
// holds at once.
func (q *Queue) launch(name string, blocks int64, args ...uint64) error {
	k, err := q.kernels.module.Kernel(name)
	if err != nil {
		return err
	}
	return q.start(k, blocks, args...)
}

// start is launch with a kernel at hand.
func (q *Queue) start(k *driver.Kernel, blocks int64, args ...uint64) error {
	q.cost.Launches++
	grid := min(max(blocks, 1), int64(q.resident(k)))
	return k.Launch(q.stream, int(grid), args...)
}

// resident returns how many blocks of a kernel run at once.
func (q *Queue) resident(k *driver.Kernel) int { return q.kernels.context.Info().SMs * k.Blocks }

// upload copies a descriptor, or a list of them, to the arena.
func (q *Queue) upload(ctx context.Context, d any) (driver.Ptr, error) {
	to, err := q.arena.Take(int64(binary.Size(d)))
	if err != nil {
		return 0, err
	}
	return to, q.fill(ctx, to, d)
}

// fill copies a descriptor to memory that was taken for it.
func (q *Queue) fill(ctx context.Context, to driver.Ptr, d any) error {
	b, err := binary.Append(nil, binary.LittleEndian, d)
	if err != nil {
		return fmt.Errorf("descriptor: %w", err)
	}
	return q.write(ctx, to, b)
}

// write copies bytes of the host to the device.
func (q *Queue) write(ctx context.Context, to driver.Ptr, b []byte) error {
	for len(b) > 0 {
		if q.staged == stagingBytes {
			if err := q.Sync(ctx); err != nil {
				return err
			}
		}
		n := copy(q.staging.Bytes()[q.staged:], b)
		if err := q.stream.CopyIn(to, q.staging.Bytes()[q.staged:q.staged+int64(n)]); err != nil {
			return err
		}
		q.staged = min((q.staged+int64(n)+15)/16*16, stagingBytes)
		to += driver.Ptr(n)
		b = b[n:]
	}
	return nil
}

// read waits for all steps and returns words of device memory.
func (q *Queue) read(ctx context.Context, from driver.Ptr, words int) ([]uint64, error) {
	if words*8 > readBackBytes {
		return nil, fmt.Errorf("%d words are read back at once, %d are too many", words, words)
	}
	b := q.staging.Bytes()[:words*8]
	if err := q.stream.CopyOut(b, from); err != nil {
		return nil, err
	}
	if err := q.Sync(ctx); err != nil {
		return nil, err
	}
	out := make([]uint64, words)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return out, nil
}
