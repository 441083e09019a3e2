//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
)

// input has spread keys, and as payload the row; all cores write.
func (h *hostBench) input() *joincore.Relation {
	r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 8}, {Kind: joincore.Fixed, Width: 8}}}
	for first := int64(0); first < h.rows; first += int64(*hostSegment) {
		rows := int(min(int64(*hostSegment), h.rows-first))
		r.Segments = append(r.Segments, joincore.Segment{Rows: rows, Columns: []joincore.Vector{{Values: h.take(8 * rows)}, {Values: h.take(8 * rows)}}})
	}
	h.must(hostinput.Each(len(r.Segments), runtime.NumCPU(), func(i int) {
		s, first := &r.Segments[i], int64(i)*int64(*hostSegment)
		for k := range int64(s.Rows) {
			binary.LittleEndian.PutUint64(s.Columns[0].Values[8*k:], spread(first+k))
			binary.LittleEndian.PutUint64(s.Columns[1].Values[8*k:], uint64(first+k))
		}
	}))
	return r
}

// summing adds up spaces by the kernel of benches.
type summing struct {
	e       *execution
	kernel  *driver.Kernel
	staging *driver.Host
	total   [2]uint64
	time    time.Duration
}

func newSumming(h *hostBench, e *execution) (s *summing, err error) {
	s = &summing{e: e}
	if s.kernel, err = h.data.Kernel("data_sum"); err != nil {
		return nil, err
	}
	s.staging, err = e.workspace.gpu.context.Pinned(64)
	return s, err
}

func (s *summing) close() {
	if err := s.staging.Free(); err != nil {
		panic(err)
	}
}

func (s *summing) add(ctx context.Context, rows *space, refs []joincore.ColumnRef) error {
	start, arena, st := time.Now(), s.e.workspace.arena, s.e.workspace.main.Stream()
	defer func() { s.time += time.Since(start) }()
	defer arena.Rewind(arena.Mark())
	at, err := arena.Take(64)
	if err != nil {
		return err
	}
	words := s.staging.Words()
	clear(words)
	for i, ref := range refs {
		c, err := s.e.lookup(ctx, rows, st)(ref)
		if err != nil {
			return err
		}
		column, _, err := s.e.dense(c, rows.rows)
		if err != nil {
			return err
		}
		words[2*i], words[2*i+1] = uint64(column.Addr), uint64(column.Bytes)
	}
	if err := st.CopyIn(at, s.staging.Bytes()); err != nil {
		return err
	}
	if err := s.kernel.Launch(st, s.kernel.Grid(rows.rows/256+1), uint64(rows.rows), uint64(at), uint64(len(refs)), uint64(at)+32); err != nil {
		return err
	}
	if err := st.CopyOut(s.staging.Bytes(), at); err != nil {
		return err
	}
	if err := st.Sync(ctx); err != nil {
		return err
	}
	s.total[0] += words[4]
	s.total[1] += words[5]
	return nil
}

// expectedSum is what data_sum makes of rows 0, 1, 2, ... in two columns.
func expectedSum(rows int64) uint64 {
	mix := func(x uint64) uint64 {
		x ^= x >> 30
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 27
		x *= 0x94d049bb133111eb
		return x ^ x>>31
	}
	chain := func(h, v uint64) uint64 { return mix(h*0x9e3779b97f4a7c15 + v + 1) }
	var sum atomic.Uint64
	var wait sync.WaitGroup
	workers := int64(runtime.NumCPU())
	for w := range workers {
		wait.Go(func() {
			own := uint64(0)
			for row := rows * w / workers; row < rows*(w+1)/workers; row++ {
				own += chain(chain(0, uint64(row)), uint64(row))
			}
			sum.Add(own)
		})
	}
	wait.Wait()
	return sum.Load()
}

// counting is a sink that counts rows.
type counting struct {
	free chan *joincore.Batch
	rows atomic.Int64
}

func newCounting(batches, capacity int, alloc func(int) []byte) *counting {
	s := &counting{free: make(chan *joincore.Batch, batches)}
	for range batches {
		b := &joincore.Batch{Rows: capacity}
		for range 2 {
			b.Columns = append(b.Columns, joincore.Vector{Values: alloc(8 * capacity), Validity: make([]byte, (capacity+7)/8)})
		}
		s.free <- b
	}
	return s
}

func (s *counting) NewBatch(ctx context.Context, _ []float64) (*joincore.Batch, error) {
	select {
	case b := <-s.free:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *counting) Emit(_ context.Context, b *joincore.Batch, rows int, _ []int) error {
	s.rows.Add(int64(rows))
	s.free <- b
	return nil
}

func (s *counting) Discard(b *joincore.Batch) { s.free <- b }

// lockedMemory is memory of a job that is page-locked.
type lockedMemory struct {
	memory []byte
	mu     sync.Mutex
	used   int64
	blocks int
}

func (s *lockedMemory) Alloc(n int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = driver.Lines(n)
	if n > int64(len(s.memory))-s.used {
		return nil, fmt.Errorf("%d bytes more than %d: %w", n, s.used, joincore.ErrBudget)
	}
	out := s.memory[s.used : s.used+n : s.used+n]
	s.used += n
	s.blocks++
	return out, nil
}

// All memory is free again once every user has returned its part.
func (s *lockedMemory) Free([]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocks--; s.blocks == 0 {
		s.used = 0
	}
}

func gigabytes(n int64) float64 { return float64(n) / 1e9 }
