package kept

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

// benchRows is how many rows a block of the benchmark's table has.
const benchRows = 60

// pool is memory that recycles extents, as the daemon does.
type pool struct{ free [][]byte }

func (p *pool) ExtentSize() int64 { return 64 << 20 }

func (p *pool) Extent() (Extent, error) {
	var data []byte
	if n := len(p.free); n > 0 {
		data, p.free = p.free[n-1], p.free[:n-1]
	} else {
		data = make([]byte, p.ExtentSize())
	}
	return Extent{data, func() { p.free = append(p.free, data) }}, nil
}

// benchStore returns a store that keeps all columns of a table of n blocks.
func benchStore(b *testing.B, blocks int) (*Store, *Request) {
	s := New(&pool{}, Options{Limit: 4 << 30})
	r := request(blocks, 7)
	l := s.Open(r)
	for first := 0; first < blocks; first += ChunkBlocks {
		var ids []int64
		var list []Block
		for at := first; at < min(blocks, first+ChunkBlocks); at++ {
			list = append(list, Block{Number: uint32(at), First: uint32(len(ids)), LSN: 5})
			for i := range benchRows + at%3 {
				ids = append(ids, int64(at)*100+int64(i))
			}
		}
		if err := l.Captured(segmentOf(r.Columns, ids), list, &source{}); err != nil {
			b.Fatal(err)
		}
	}
	l.Close(true)
	s.Drain()
	return s, r
}

// stale clears the bits of a part of a table's blocks: in one place, or here and there.
func stale(r *Request, blocks int, fraction float64, clustered bool) {
	rnd := rand.New(rand.NewPCG(1, 1))
	n := int(float64(blocks) * fraction)
	for i := range blocks {
		clear := i < n
		if !clustered {
			clear = rnd.Float64() < fraction
		}
		if clear {
			r.Groups[i/GroupBlocks].Visible[i%GroupBlocks/8] &^= 1 << (i % 8)
		}
	}
}

// BenchmarkSegments measures what it costs to serve kept rows of which some blocks are stale,
// and to read them as the join code does, one column of one segment after the other.
func BenchmarkSegments(b *testing.B) {
	const blocks = 32 * ChunkBlocks
	s, _ := benchStore(b, blocks)
	for _, fraction := range []float64{0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.9} {
		for _, clustered := range []bool{true, false} {
			r := request(blocks, 7)
			stale(r, blocks, fraction, clustered)
			for _, read := range []bool{false, true} {
				b.Run(fmt.Sprintf("stale=%v/clustered=%v/read=%v", fraction, clustered, read), func(b *testing.B) {
					rows, segments := 0, 0
					for b.Loop() {
						l := s.Open(r)
						rows, segments = 0, 0
						for _, seg := range l.Segments() {
							rows += seg.Rows
							segments++
							if read {
								sum(&seg)
							}
						}
						l.Close(true)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(rows, 1)), "ns/row")
					b.ReportMetric(float64(segments)/(blocks/ChunkBlocks), "segments/chunk")
				})
			}
		}
	}
}

var total uint64

// sum reads the values of a segment, and the offsets of texts.
func sum(seg *joincore.Segment) {
	for i := range seg.Columns {
		v := &seg.Columns[i]
		for values := v.Values; len(values) >= 8; values = values[8:] {
			total += binary.LittleEndian.Uint64(values)
		}
	}
}

// BenchmarkCopy measures how fast captured rows of three columns are copied.
func BenchmarkCopy(b *testing.B) {
	var ids []int64
	var list []Block
	for at := range ChunkBlocks {
		list = append(list, Block{Number: uint32(at), First: uint32(len(ids)), LSN: 5})
		for i := range benchRows {
			ids = append(ids, int64(at)*100+int64(i))
		}
	}
	r := request(ChunkBlocks, 7)
	seg := segmentOf(r.Columns, ids)
	s := New(&pool{}, Options{Limit: 4 << 30})
	b.SetBytes(int64(len(ids)) * (8 + 28 + 4 + 4))
	for b.Loop() {
		l := s.Open(r)
		if err := l.Captured(seg, list, &source{}); err != nil {
			b.Fatal(err)
		}
		l.Close(true)
		s.Drain()
		s.Forget(func(*TableInfo) bool { return true })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/row")
}

// BenchmarkOpen measures the directory of a large table: 1.3 million blocks are 10 GB.
func BenchmarkOpen(b *testing.B) {
	const blocks = 4 * GroupBlocks
	s := New(&pool{}, Options{Limit: 4 << 30})
	r := request(blocks, 7)
	l := s.Open(r)
	for at := range blocks {
		if err := l.Captured(segmentOf(r.Columns, idsOf(at)), []Block{{Number: uint32(at), LSN: 5}}, &source{}); err != nil {
			b.Fatal(err)
		}
	}
	l.Close(true)
	s.Drain()
	c := s.Counters()
	b.Logf("directory: %.1f bytes a block", float64(c.Directory)/blocks)
	b.ResetTimer()
	for b.Loop() {
		l := s.Open(r)
		if l.State(0) != Kept {
			b.Fatal("not kept")
		}
		l.Close(true)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/blocks, "ns/block")
}

// BenchmarkLease measures what a query of a kept table of 1.2 million blocks costs the store: its
// lease, its segments and the lease's end. The caches have other data meanwhile, as between two
// queries of a server.
func BenchmarkLease(b *testing.B) {
	const blocks = 2300 * ChunkBlocks
	s := New(&pool{}, Options{Limit: 4 << 30})
	r := request(blocks, 7)
	l := s.Open(r)
	for at := 0; at < blocks; at += ChunkBlocks {
		var list []Block
		for i := range ChunkBlocks {
			list = append(list, Block{Number: uint32(at + i), LSN: 5})
		}
		if err := l.Captured(segmentOf(r.Columns, idsOf(at+ChunkBlocks-1)), list, &source{}); err != nil {
			b.Fatal(err)
		}
	}
	l.Close(true)
	s.Drain()
	other := make([]byte, 64<<20)
	for b.Loop() {
		b.StopTimer()
		for i := range other {
			other[i]++
		}
		b.StartTimer()
		l := s.Open(r)
		segments := l.Segments()
		l.Close(true)
		if len(segments) != 2300 {
			b.Fatalf("%d segments", len(segments))
		}
	}
}
