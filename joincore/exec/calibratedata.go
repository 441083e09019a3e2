package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"

	"gpujoin/joincore"
)

var column8 = joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}

// data is what calibration joins: n build keys without order or density, and
// probe keys drawn from them.
type data struct {
	keys, payload []byte // build side
	probe, other  []byte
}

// scatter is odd: multiples of it are distinct, and far apart.
const scatter = 0x9e3779b97f4a7c15

// prepare makes the data for n build rows, a power of two.
func (d *data) prepare(mem *joincore.Account, n int) error {
	err := errors.Join(grow(mem, &d.keys, n), grow(mem, &d.payload, n), grow(mem, &d.probe, probeRows), grow(mem, &d.other, probeRows))
	if err != nil {
		return err
	}
	mask := uint64(n - 1)
	generate(d.keys, n, func(i uint64) uint64 { return i * scatter })
	generate(d.payload, n, func(i uint64) uint64 { return i })
	generate(d.probe, probeRows, func(i uint64) uint64 {
		i *= 0xd6e8feb86659fd93
		return ((i ^ i>>32) * 0x9fb21c651e98df25 >> 40 & mask) * scatter
	})
	generate(d.other, probeRows, func(i uint64) uint64 { return i })
	return nil
}

func grow(mem *joincore.Account, b *[]byte, n int) error {
	if len(*b) >= 8*n {
		return nil
	}
	mem.Free(*b)
	var err error
	*b, err = mem.Alloc(int64(8 * n))
	return err
}

// generate writes n values on all cores.
func generate(dst []byte, n int, value func(i uint64) uint64) {
	cores := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for c := range cores {
		wait.Go(func() {
			for i := n * c / cores; i < n*(c+1)/cores; i++ {
				binary.LittleEndian.PutUint64(dst[8*i:], value(uint64(i)))
			}
		})
	}
	wait.Wait()
}

// relations returns the probe and the build side, in segments such as extents.
func (d *data) relations(n int) (probe, build *joincore.Relation) {
	return relation(d.probe, d.other, probeRows), relation(d.keys, d.payload, n)
}

func relation(a, b []byte, n int) *joincore.Relation {
	const segmentRows = 1 << 17
	r := &joincore.Relation{Columns: []joincore.Column{column8, column8}}
	for at := 0; at < n; at += segmentRows {
		end := min(at+segmentRows, n)
		r.Segments = append(r.Segments, joincore.Segment{Rows: end - at, Columns: []joincore.Vector{
			{Values: a[8*at : 8*end]}, {Values: b[8*at : 8*end]},
		}})
	}
	return r
}

// scrap is a Sink that throws batches away.
type scrap struct {
	columns int
	lock    sync.Mutex
	free    []*joincore.Batch
}

func (s *scrap) NewBatch(context.Context, []float64) (*joincore.Batch, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if n := len(s.free); n > 0 {
		b := s.free[n-1]
		s.free = s.free[:n-1]
		return b, nil
	}
	b := &joincore.Batch{Rows: batchRows}
	for range s.columns {
		b.Columns = append(b.Columns, joincore.Vector{Values: make([]byte, 8*batchRows), Validity: make([]byte, batchRows/8)})
	}
	return b, nil
}

func (s *scrap) Emit(_ context.Context, b *joincore.Batch, _ int, _ []int) error {
	s.Discard(b)
	return nil
}

func (s *scrap) Discard(b *joincore.Batch) {
	s.lock.Lock()
	s.free = append(s.free, b)
	s.lock.Unlock()
}
