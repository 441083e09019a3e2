//go:build cuda

package op

import (
	"context"
	"encoding/binary"
	"fmt"

	"gpujoin/joincore/cuda/driver"
)

// Kernels are those of general.fatbin in one context.
type Kernels struct {
	context *driver.Context
	module  *driver.Module
}

// Load loads general.fatbin.
func Load(c *driver.Context, fatbin []byte) (*Kernels, error) {
	m, err := c.Load(fatbin)
	if err != nil {
		return nil, err
	}
	return &Kernels{context: c, module: m}, nil
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
	cost    Cost
}

// Cost is what steps took.
type Cost struct {
	Launches int
	Syncs    int   // times that the host waited for the device
	Bytes    int64 // read and written in device memory, as modelled
}

const (
	stagingBytes  = 1 << 18
	readBackBytes = 256 // at the start of staging, for what is read back
)

// NewQueue makes a queue over a stream and an arena, which stay the caller's.
func (k *Kernels) NewQueue(s *driver.Stream, a *driver.Arena) (*Queue, error) {
	staging, err := k.context.Pinned(stagingBytes)
	if err != nil {
		return nil, err
	}
	return &Queue{kernels: k, stream: s, arena: a, staging: staging, staged: readBackBytes}, nil
}

// Close frees what NewQueue took. Nothing may be under way.
func (q *Queue) Close() error { return q.staging.Free() }

// Arena returns the queue's arena.
func (q *Queue) Arena() *driver.Arena { return q.arena }

// Stream returns the queue's stream.
func (q *Queue) Stream() *driver.Stream { return q.stream }

// Cost returns what the steps took so far.
func (q *Queue) Cost() Cost { return q.cost }

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

// Count is a number of rows that the device computes.
type Count struct {
	queue *Queue
	at    driver.Ptr
	known int64
}

// Wait waits for all steps of the queue and returns the number. It is read
// once: memory under a count may be rewound after the first Wait.
func (c *Count) Wait(ctx context.Context) (int64, error) {
	if c.at == 0 {
		return c.known, nil
	}
	v, err := c.queue.read(ctx, c.at, 1)
	if err != nil {
		return 0, err
	}
	c.at, c.known = 0, int64(v[0])
	return c.known, nil
}
