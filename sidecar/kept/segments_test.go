package kept

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
)

// keptTable returns a store that keeps all columns of a table, and a request for them.
func keptTable(t *testing.T, blocks int, memory *heap, limit int64) (*Store, *Request) {
	s := New(memory, Options{Limit: limit})
	r := tableOf(1, blocks, start)
	use(t, s, r)
	if kept := use(t, s, r); kept != blocks {
		t.Fatalf("%d of %d blocks are kept", kept, blocks)
	}
	return s, r
}

// keepOnly clears the bits of all other blocks.
func keepOnly(r *Request, keep func(block int) bool) (ids []int64) {
	r.Groups[0] = allVisible(r.Groups[0].LSN)
	for b := range int(r.Blocks) {
		if keep(b) {
			ids = append(ids, idsOf(b)...)
		} else {
			r.Groups[0].Visible[b/8] &^= 1 << (b % 8)
		}
	}
	return ids
}

func TestSegmentsOfPartlyServedChunks(t *testing.T) {
	const blocks = 2*ChunkBlocks + 300
	memory := &heap{size: 256 << 10}
	s, r := keptTable(t, blocks, memory, 8<<20)
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name     string
		keep     func(b int) bool
		segments int
	}{
		{"all", func(int) bool { return true }, 3},
		{"none", func(int) bool { return false }, 0},
		{"one", func(b int) bool { return b == 700 }, 1},
		{"the second chunk", func(b int) bool { return b/ChunkBlocks == 1 }, 1},
		{"a hole in each chunk", func(b int) bool { return b%ChunkBlocks != 101 }, 6},
		{"dense holes", func(b int) bool { return b%4 > 0 }, 3},
		{"half", func(int) bool { return rnd.IntN(2) == 0 }, 3},
		{"a hole in ten blocks", func(b int) bool { return b%10 != 9 }, 52 + 52 + 31},
		{"one block in fifteen", func(b int) bool { return b%15 == 3 }, 3},
		{"three in a chunk", func(b int) bool { return b%170 == 3 }, 4 + 3 + 1},
	} {
		want := keepOnly(r, c.keep)
		for _, columns := range [][]Column{allColumns, {nullColumn}, {textColumn, idColumn}} {
			r.Columns = columns
			l := s.Open(r)
			segments := l.Segments()
			if len(segments) != c.segments {
				t.Errorf("%s: %d segments, %d expected", c.name, len(segments), c.segments)
			}
			if got := rowsOf(t, columns, segments); !slices.Equal(got, wantedRows(columns, want)) {
				t.Errorf("%s, %d columns: %d rows, which are not the %d expected ones", c.name, len(columns), len(got), len(want))
			}
			l.Close(true)
			if n := len(s.scratch.extents); n != 0 {
				t.Errorf("%s: %d extents of scratch memory are left", c.name, n)
			}
		}
		r.Columns = nil
		l := s.Open(r)
		if rows := (&joincore.Relation{Segments: l.Segments()}).Rows(); rows != int64(len(want)) {
			t.Errorf("%s: %d rows without columns", c.name, rows)
		}
		l.Close(true)
	}
}

// Without memory for copies, there are more segments with the same rows.
func TestSegmentsWithoutScratchMemory(t *testing.T) {
	memory := &heap{size: 256 << 10}
	s, r := keptTable(t, ChunkBlocks, memory, 1<<20)
	memory.most = memory.live
	want := keepOnly(r, func(b int) bool { return b%3 > 0 })
	l := s.Open(r)
	defer l.Close(true)
	segments := l.Segments()
	if got := rowsOf(t, r.Columns, segments); !slices.Equal(got, wantedRows(r.Columns, want)) {
		t.Error("other rows")
	}
	if len(segments) != (ChunkBlocks+2)/3 {
		t.Errorf("%d segments", len(segments))
	}
}

// Columns that were captured at different times have other blocks and other rows between those
// that all have.
func TestSegmentsOfColumnsWithDifferentLayouts(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	capturedAs := func(c Column, lsn uint64, blocks ...int) {
		r := tableOf(1, 10, start)
		r.Columns, r.Groups[0].Visible = []Column{c}, nil
		l := s.Open(r)
		capture(t, l, r.Columns, lsn, blocks...)
		l.Close(true)
		s.Drain()
	}
	capturedAs(idColumn, 5, 0, 1, 2, 3, 4, 5, 6, 7, 9)
	capturedAs(textColumn, 5, 0, 2, 3, 5, 7, 8, 9)
	capturedAs(textColumn, 6, 3) // changed since
	r := tableOf(1, 10, start)
	r.Groups[0].LSN = 8
	r.Columns = []Column{textColumn, idColumn}
	l := s.Open(r)
	defer l.Close(true)
	_, prove, lsns := l.Blocks(0)
	if prove[0] != 0b10100101 || prove[1] != 0b10 || !slices.Equal(lsns, []uint64{5, 5, 5, 5, 5}) {
		t.Fatalf("to prove: %b, %v", prove[:2], lsns)
	}
	if err := l.Proved(0, prove); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(idsOf(0), idsOf(2), idsOf(5), idsOf(7), idsOf(9))
	if got := rowsOf(t, r.Columns, l.Segments()); !slices.Equal(got, wantedRows(r.Columns, want)) {
		t.Errorf("rows %q", got)
	}
	// The proof counts for single columns, too, and not for the block of another version.
	r.Columns = []Column{textColumn}
	l = s.Open(r)
	defer l.Close(true)
	if kept, prove, _ := l.Blocks(0); kept[0] != 0b10100101 || kept[1] != 0b10 || prove[0] != 0b1000 || prove[1] != 1 {
		t.Errorf("texts: kept %b, to prove %b", kept[:2], prove[:2])
	}
}

func TestMostCutsKeepsRowNumbersSmall(t *testing.T) {
	chunks := make([]servedChunk, 100_000) // of a table of 400 GB
	for i := range chunks {
		chunks[i] = servedChunk{cuts: []cut{{rows: 30_000}}}
	}
	if n := mostCuts(chunks); n != 1 {
		t.Errorf("%d slices a chunk of a large table", n)
	}
	if n := mostCuts(chunks[:100]); n != mostSlices {
		t.Errorf("%d slices a chunk of a small table", n)
	}
}

func TestCutSplitsLargeSegments(t *testing.T) {
	columns := []joincore.Column{idColumn.Physical, textColumn.Physical, nullColumn.Physical}
	var ids []int64
	for id := range int64(20_001) {
		ids = append(ids, id)
	}
	segments := []joincore.Segment{segmentOf(allColumns, ids[:20_000]), segmentOf(allColumns, ids[20_000:])}
	if out := Cut(columns, segments); len(out) != 2 {
		t.Errorf("%d segments, although two have numbers enough", len(out))
	}
	for range 1<<30/32768 - 1 {
		segments = append(segments, segments[1])
	}
	out := Cut(columns, segments)
	if len(out) != len(segments)+1 || out[0].Rows != 16384 || out[1].Rows != 20_000-16384 {
		t.Errorf("%d segments become %d, the first ones of %d and %d rows", len(segments), len(out), out[0].Rows, out[1].Rows)
	}
	if got := rowsOf(t, allColumns, out[:3]); !slices.Equal(got, wantedRows(allColumns, ids)) {
		t.Error("other rows")
	}
}
