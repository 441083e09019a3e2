package kept

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestTablesDescribesWhatIsKept(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	use(t, s, tableOf(2, 10, start))
	r := tableOf(1, 10, start)
	r.Columns = allColumns[:1]
	l := s.Open(r)
	capture(t, l, r.Columns, 5, 0, 1, 2, 3, 4)
	l.Close(true)
	s.Drain()
	r.Columns = allColumns[1:2]
	r.Policy = Off
	l = s.Open(r)
	defer l.Close(true)
	list := s.Tables()
	if len(list) != 2 || list[0].Name != "t1" || list[1].Name != "t2" || len(list[1].Columns) != 3 {
		t.Fatalf("%+v", list)
	}
	info := &list[0]
	if len(info.Columns) != 1 || info.Leases != 1 || info.Uses != 2 || info.Blocks != 10 || info.Bytes == 0 || !info.LastUse.Equal(start) {
		t.Errorf("%+v", info)
	}
	if c := &info.Columns[0]; c.Column != idColumn || c.Blocks != 5 || c.Rows != 17 || info.Fraction(c) != 0.5 || c.Uses != 1 {
		t.Errorf("%+v", info.Columns[0])
	}
	if s.Forget(func(i *TableInfo) bool { return i.Name == "t1" }) != info.Bytes || len(s.Tables()) != 1 {
		t.Error("t1 was not forgotten")
	}
}

func TestTablesOfWhichNothingIsKeptAreForgotten(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20, Interest: time.Hour})
	kept := tableOf(1<<20, 10, start)
	use(t, s, kept)
	for i := range 3 * mostIdle {
		r := tableOf(uint32(i), 10, start.Add(time.Duration(i)*time.Second))
		r.Policy = Auto
		s.Open(r).Close(true)
		if len(s.tables) > mostIdle || len(s.current) > mostIdle {
			t.Fatalf("the store remembers %d tables, %d names", len(s.tables), len(s.current))
		}
	}
	if use(t, s, kept) != 10 {
		t.Error("a table of which something is kept was forgotten")
	}
}

func TestWideColumnsAreNotCapturedAgain(t *testing.T) {
	s := New(&heap{size: 4 << 10}, Options{Limit: 1 << 20})
	r := tableOf(1, ChunkBlocks, start)
	use(t, s, r)
	if l := s.Open(r); l.Capture() {
		t.Error("columns are captured again that fit in no extent")
	}
	r.Columns = []Column{idColumn}
	r.Blocks = 10
	if l := s.Open(r); l.Capture() {
		t.Error("the identity column of a chunk fits in no extent, either")
	}
}

// When the daemon has no more memory, hotter data takes the extents of colder.
func TestHotterDataTakesExtentsOfColder(t *testing.T) {
	memory := &heap{size: testExtent, most: 2}
	s := New(memory, Options{Limit: 64 * testExtent})
	cold, hot := tableOf(1, 2*ChunkBlocks, start), tableOf(2, ChunkBlocks, start)
	use(t, s, cold)
	for range 10 {
		use(t, s, hot)
	}
	if use(t, s, hot) != ChunkBlocks {
		t.Error("the hot table is not kept")
	}
}

func TestNewerVersionsOfBlocksWin(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	// Two queries capture block 0 before and after a change, and end in the wrong order.
	older, newer := s.Open(tableOf(1, 2, start)), s.Open(tableOf(1, 2, start))
	if err := older.Captured(segmentOf(allColumns, []int64{1, 2}), []Block{{LSN: 5}}, &source{}); err != nil {
		t.Fatal(err)
	}
	if err := newer.Captured(segmentOf(allColumns, []int64{3}), []Block{{LSN: 6}}, &source{}); err != nil {
		t.Fatal(err)
	}
	newer.Close(true)
	older.Close(true)
	s.Drain()
	l := s.Open(tableOf(1, 2, start))
	defer l.Close(true)
	if got := rowsOf(t, allColumns, l.Segments()); !slices.Equal(got, wantedRows(allColumns, []int64{3})) {
		t.Errorf("rows %q", got)
	}
}

func TestLaterProofIsNotReplacedByEarlierOne(t *testing.T) {
	var p proof
	p.add(0, firstBlocks(3))
	p.add(10, firstBlocks(3))
	p.add(9, firstBlocks(ChunkBlocks))
	if p.at(10) != firstBlocks(3) || p.at(9) != (blockSet{}) || p.at(0) != (blockSet{}) {
		t.Errorf("%+v", p)
	}
	p.add(10, firstBlocks(5))
	p.add(11, blockSet{})
	if p.at(10) != (blockSet{}) || p.at(11) != (blockSet{}) {
		t.Errorf("%+v", p)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 10 * testExtent})
	ctx, stop := context.WithCancel(t.Context())
	var background, sessions sync.WaitGroup
	background.Go(func() { s.Work(ctx) })
	background.Go(func() {
		for ctx.Err() == nil {
			s.Shrink(testExtent)
			s.Tables()
			s.Counters()
			time.Sleep(time.Millisecond)
		}
	})
	for i := range 4 {
		sessions.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for j := range 100 {
				r := tableOf(uint32(rnd.IntN(3)), 600, start)
				r.Groups[0].LSN = uint64(7 + j/10)
				l := s.Open(r)
				kept, prove, _ := l.Blocks(0)
				if err := l.Proved(0, prove); err != nil {
					t.Error(err)
				}
				var want []int64
				var fed []int
				for b := range 600 {
					if (kept[b/8]|prove[b/8])>>(b%8)&1 != 0 {
						want = append(want, idsOf(b)...)
					} else if rnd.IntN(2) == 0 {
						fed = append(fed, b)
					}
				}
				if l.Capture() && len(fed) > 0 {
					capture(t, l, r.Columns, 5, fed...)
				}
				if got := rowsOf(t, r.Columns, l.Segments()); !slices.Equal(got, wantedRows(r.Columns, want)) {
					t.Error("wrong rows")
				}
				l.Close(true)
			}
		})
	}
	sessions.Wait()
	stop()
	background.Wait()
}
