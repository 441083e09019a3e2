package kept

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

// named is what has been read under the names of contents: the value of each row.
type named struct {
	values map[uint64]map[int64]string
	gone   map[uint64]bool
}

// check compares what segments have under the names of contents with what they had before.
func (n *named) check(t *testing.T, columns []Column, segments []joincore.Segment) (slices int) {
	t.Helper()
	for _, seg := range segments {
		for i, c := range columns {
			v := &seg.Columns[i]
			if v.Content == 0 {
				if v.From != 0 {
					t.Fatalf("row %d of no content", v.From)
				}
				continue
			}
			if n.gone[v.Content] {
				t.Fatalf("content %d is read after it was gone", v.Content)
			}
			if v.From > 0 {
				slices++
			}
			before := n.values[v.Content]
			if before == nil {
				before = map[int64]string{}
				n.values[v.Content] = before
			}
			for row := range seg.Rows {
				value, err := valueOf(c, v, row)
				if err != nil {
					t.Fatal(err)
				}
				at := v.From + int64(row)
				if old, ok := before[at]; ok && old != value {
					t.Fatalf("row %d of content %d is %q, and was %q", at, v.Content, value, old)
				}
				before[at] = value
			}
		}
	}
	return slices
}

// version returns the ids of the rows of a block whose page has an LSN.
func version(block int, lsn uint64) []int64 {
	ids := idsOf(block)
	for i := range ids {
		ids[i] += int64(lsn) * 1_000_000
	}
	return ids
}

// Whatever is captured, proved, evicted, moved and cut: a content has the same value in each
// row for ever, under whichever slice it is read, and is not read after it was gone.
func TestContentsNeverChange(t *testing.T) {
	const blocks = 2*ChunkBlocks + 100
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		n := &named{map[uint64]map[int64]string{}, map[uint64]bool{}}
		s := New(&heap{size: testExtent}, Options{
			Limit: int64(3+rnd.IntN(8)) * testExtent,
			Gone: func(content uint64) {
				if content == 0 {
					t.Error("content 0 is gone")
				}
				n.gone[content] = true
			},
		})
		sliced, vm := 0, uint64(10)
		for range 250 {
			r := tableOf(uint32(1+rnd.IntN(2)), blocks, start)
			r.Flushed = 1 << 40
			if vm += uint64(rnd.IntN(2)); rnd.IntN(3) == 0 {
				r.Columns = []Column{textColumn, idColumn}
			}
			r.Groups[0].LSN = vm
			for range rnd.IntN(40) {
				b := rnd.IntN(blocks)
				r.Groups[0].Visible[b/8] &^= 1 << (b % 8)
			}
			sliced += useRandomly(t, rnd, s, r, n)
			if rnd.IntN(4) == 0 {
				s.Shrink(testExtent)
			}
			if rnd.IntN(50) == 0 {
				s.Forget(func(i *TableInfo) bool { return i.Table.File == r.Table.File })
			}
		}
		if len(n.values) < 20 || sliced < 20 || len(n.gone) < 10 {
			t.Errorf("seed %d: %d contents, %d slices, %d are gone", seed, len(n.values), sliced, len(n.gone))
		}
	}
}

// useRandomly scans a table: of the blocks that are to be proved, some have changed.
func useRandomly(t *testing.T, rnd *rand.Rand, s *Store, r *Request, n *named) (sliced int) {
	t.Helper()
	l := s.Open(r)
	defer s.Drain()
	defer l.Close(true)
	kept, prove, _ := l.Blocks(0)
	changed := rnd.IntN(10)
	var ids []int64
	var list []Block
	for b := range int(r.Blocks) {
		switch bit := byte(1) << (b % 8); {
		case kept[b/8]&bit != 0:
		case prove[b/8]&bit != 0 && rnd.IntN(100) >= changed:
		default:
			prove[b/8] &^= bit
			list = append(list, Block{Number: uint32(b), First: uint32(len(ids)), LSN: r.Groups[0].LSN})
			ids = append(ids, version(b, r.Groups[0].LSN)...)
		}
	}
	if err := l.Proved(0, prove); err != nil {
		t.Fatal(err)
	}
	if l.Capture() && len(list) > 0 {
		if err := l.Captured(segmentOf(r.Columns, ids), list, &source{}); err != nil {
			t.Fatal(err)
		}
	}
	segments := l.Segments()
	sliced = n.check(t, r.Columns, segments)
	columns := make([]joincore.Column, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = c.Physical
	}
	var parts []joincore.Segment
	for i := range segments {
		for at := 0; at < segments[i].Rows; at += 64 {
			parts = append(parts, part8(columns, &segments[i], at, min(64, segments[i].Rows-at)))
		}
	}
	n.check(t, r.Columns, parts)
	return sliced
}
