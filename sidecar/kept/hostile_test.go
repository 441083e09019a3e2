package kept

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
)

// script reads what a hostile backend does from bytes.
type script struct{ data []byte }

func (s *script) byte() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

// number is mostly small, and sometimes at a border.
func (s *script) number() uint32 {
	switch b := s.byte(); {
	case b < 200:
		return uint32(b % 40)
	case b < 230:
		return uint32(b) * 131
	default:
		return []uint32{1 << 31, 1<<32 - 1, GroupBlocks - 1, GroupBlocks, ChunkBlocks, 65536, mostRows, mostRows + 1}[b%8]
	}
}

func (s *script) bytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = s.byte()
	}
	return out
}

// segment is rows as the daemon takes them over from a backend: arrays of the right length
// with any content.
func (s *script) segment(columns []Column) joincore.Segment {
	seg := joincore.Segment{Rows: int(s.byte())}
	for _, c := range columns {
		rows := seg.Rows
		if s.byte() == 77 {
			rows = int(s.byte())
		}
		v := joincore.Vector{Values: s.bytes(rows * c.Physical.StoredWidth())}
		if c.Physical.Kind == joincore.Varlena {
			v.Heap = s.bytes(int(s.byte()))
			offset := uint32(0)
			for range rows + 1 {
				v.Values = binary.LittleEndian.AppendUint32(v.Values, offset)
				offset += uint32(s.byte() % 8)
				if s.byte() == 99 {
					offset = s.number()
				}
			}
			v.Values = v.Values[4*rows:]
		}
		if s.byte()%2 == 0 {
			v.Validity = s.bytes((rows + 7) / 8)
		}
		seg.Columns = append(seg.Columns, v)
	}
	return seg
}

// hostile plays a script: nothing may panic, the limit holds, and what is served afterwards
// must be well-formed.
func hostile(t *testing.T, data []byte) {
	in := &script{data}
	memory := &heap{size: 8 << 10}
	s := New(memory, Options{Limit: 100 << 10})
	var sources []*source
	for range 1 + in.byte()%4 {
		r := &Request{Table: Table{File: uint32(in.byte() % 2)}, Columns: allColumns[:in.byte()%4], Blocks: in.number(), Flushed: uint64(in.number()), Policy: Always, Now: start}
		for range in.byte() % 4 {
			r.Groups = append(r.Groups, Group{LSN: uint64(in.number()), Visible: bytes.Repeat([]byte{in.byte()}, min(int(in.number()), 5000))})
		}
		l := s.Open(r)
		for range in.byte() % 8 {
			if in.byte()%4 == 0 {
				_ = l.Proved(int(int32(in.number())), bytes.Repeat([]byte{in.byte()}, []int{BitmapBytes, BitmapBytes, 0, 4084}[in.byte()%4]))
				continue
			}
			var blocks []Block
			first := uint32(0)
			for range 1 + in.byte()%8 {
				blocks = append(blocks, Block{in.number(), first, uint64(in.byte())})
				if first += uint32(in.byte() % 8); in.byte() == 99 {
					first = in.number()
				}
			}
			from := &source{}
			sources = append(sources, from)
			seg := in.segment(r.Columns)
			if err := l.Captured(seg, blocks, from); err != nil && !errors.Is(err, ErrLease) {
				t.Errorf("error of another kind: %v", err)
			}
			// The backend writes to what it has handed over.
			for i := range seg.Columns {
				for range in.byte() % 4 {
					if v := seg.Columns[i].Values; len(v) > 0 {
						v[int(in.number())%len(v)] = in.byte()
					}
				}
			}
		}
		for g := range 4 {
			l.State(g)
			l.Blocks(g)
		}
		check(t, r.Columns, l.Segments())
		l.Close(in.byte()%4 > 0)
		s.Drain()
		if c := s.Counters(); c.Bytes > s.options.Limit {
			t.Fatalf("%d bytes", c.Bytes)
		}
		all := *r
		all.Groups = []Group{allVisible(1), allVisible(1), allVisible(1)}
		l = s.Open(&all)
		for g := range all.Groups {
			_, prove, _ := l.Blocks(g)
			if err := l.Proved(g, prove); err != nil {
				t.Fatal(err)
			}
		}
		check(t, r.Columns, l.Segments())
		l.Close(true)
	}
	for _, from := range sources {
		if from.refs.Load() != 0 {
			t.Fatalf("a source has %d references", from.refs.Load())
		}
	}
}

// check fails unless segments are well-formed.
func check(t *testing.T, columns []Column, segments []joincore.Segment) {
	t.Helper()
	relation := joincore.Relation{Segments: segments}
	for _, c := range columns {
		relation.Columns = append(relation.Columns, c.Physical)
	}
	if err := relation.Check(); err != nil {
		t.Fatal(err)
	}
	for _, seg := range segments {
		for i, c := range columns {
			if c.Physical.Kind != joincore.Varlena {
				continue
			}
			v := &seg.Columns[i]
			for row := range seg.Rows {
				from, to := offset(v, row), offset(v, row+1)
				if from > to || int64(to) > int64(len(v.Heap)) {
					t.Fatalf("offsets %d and %d in a heap of %d bytes", from, to, len(v.Heap))
				}
				if to > from && v.Heap[from] == chained {
					t.Fatal("a chained value is kept")
				}
			}
		}
	}
}

func FuzzHostileBackend(f *testing.F) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(randomScript(rnd))
	}
	f.Fuzz(hostile)
}

func TestHostileBackend(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		hostile(t, randomScript(rnd))
	}
}

func randomScript(rnd *rand.Rand) []byte {
	data := make([]byte, 100+rnd.IntN(3000))
	for i := range data {
		data[i] = byte(rnd.Uint32())
		if rnd.IntN(3) == 0 {
			data[i] %= 8
		}
	}
	return data
}

func TestCapturedRefusesNonsense(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	seg := segmentOf(allColumns, []int64{1, 2, 3})
	short := segmentOf(allColumns, []int64{1, 2, 3})
	short.Columns[0].Values = short.Columns[0].Values[:16]
	for _, c := range []struct {
		what   string
		seg    joincore.Segment
		blocks []Block
	}{
		{"no blocks", seg, nil},
		{"a block behind the table", seg, []Block{{Number: 10, LSN: 5}}},
		{"a first row behind the only one", seg, []Block{{Number: 1, First: 4, LSN: 5}}},
		{"rows in disorder", seg, []Block{{Number: 1, LSN: 5}, {Number: 2, First: 2, LSN: 5}, {Number: 3, First: 1, LSN: 5}}},
		{"a first row behind the batch", seg, []Block{{Number: 1, LSN: 5}, {Number: 2, First: 4, LSN: 5}}},
		{"a block twice in a batch", seg, []Block{{Number: 1, LSN: 5}, {Number: 1, First: 2, LSN: 5}}},
		{"short values", short, []Block{{Number: 1, LSN: 5}}},
		{"a missing column", segmentOf(allColumns[:2], []int64{1}), []Block{{Number: 1, LSN: 5}}},
		{"negative rows", joincore.Segment{Rows: -1, Columns: seg.Columns}, []Block{{Number: 1, LSN: 5}}},
	} {
		l := s.Open(tableOf(1, 10, start))
		from := &source{}
		if err := l.Captured(c.seg, c.blocks, from); !errors.Is(err, ErrLease) {
			t.Errorf("%s: %v", c.what, err)
		}
		if from.refs.Load() != 0 {
			t.Errorf("%s: the source is retained", c.what)
		}
		// Nothing of it was recorded.
		capture(t, l, allColumns, 5, 1)
		if err := l.Captured(seg, []Block{{Number: 1, LSN: 5}}, from); !errors.Is(err, ErrLease) {
			t.Errorf("a block twice: %v", err)
		}
		l.Close(false)
		if err := l.Captured(seg, []Block{{Number: 2, LSN: 5}}, from); !errors.Is(err, ErrLease) {
			t.Errorf("after the end: %v", err)
		}
	}
}

func TestServedBlocksAreNotCaptured(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	r := tableOf(1, 10, start)
	use(t, s, r)
	l := s.Open(r)
	defer l.Close(true)
	if err := l.Captured(segmentOf(allColumns, idsOf(3)), []Block{{Number: 3, LSN: 5}}, &source{}); !errors.Is(err, ErrLease) {
		t.Errorf("a block of level 1 was captured: %v", err)
	}
	r = tableOf(1, 10, start)
	r.Groups[0].LSN = 8
	l = s.Open(r)
	defer l.Close(true)
	bits := make([]byte, BitmapBytes)
	bits[0] = 1 << 3
	if err := l.Proved(0, bits); err != nil {
		t.Fatal(err)
	}
	if err := l.Captured(segmentOf(allColumns, idsOf(3)), []Block{{Number: 3, LSN: 6}}, &source{}); !errors.Is(err, ErrLease) {
		t.Errorf("a proved block was captured: %v", err)
	}
	capture(t, l, allColumns, 6, 4)
	bits[0] = 1 << 4
	if err := l.Proved(0, bits); !errors.Is(err, ErrLease) {
		t.Errorf("a captured block was proved: %v", err)
	}
}

func TestColumnsWithChainedValuesAreNotKept(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	l := s.Open(tableOf(1, 2, start))
	ids := slices.Concat(idsOf(0), idsOf(1))
	seg := segmentOf(allColumns, ids)
	// The second row of block 1.
	seg.Columns[1].Heap[offset(&seg.Columns[1], len(idsOf(0))+1)] = chained
	if err := l.Captured(seg, []Block{{Number: 0, LSN: 5}, {Number: 1, First: uint32(len(idsOf(0))), LSN: 5}}, &source{}); err != nil {
		t.Fatal(err)
	}
	l.Close(true)
	s.Drain()
	for i, blocks := range []byte{0b11, 0b01, 0b11} {
		r := tableOf(1, 2, start)
		r.Columns = allColumns[i : i+1]
		l := s.Open(r)
		if kept, _, _ := l.Blocks(0); kept[0] != blocks {
			t.Errorf("blocks %b of column %d are kept", kept[0], i)
		}
		l.Close(true)
	}
}
