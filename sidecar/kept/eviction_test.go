package kept

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gpujoin/joincore"
)

// tableOf is a request for all columns of a table of some blocks, all visible.
func tableOf(file uint32, blocks int, now time.Time) *Request {
	r := request(blocks, 7)
	r.Table.File, r.Name, r.Now = file, fmt.Sprint("t", file), now
	return r
}

// use scans a table: it captures what is not kept, if it may. It returns the blocks that were
// kept.
func use(t testing.TB, s *Store, r *Request) (kept int) {
	t.Helper()
	l := s.Open(r)
	defer s.Drain()
	defer l.Close(true)
	bits, _, _ := l.Blocks(0)
	var rest []int
	for b := range int(r.Blocks) {
		if bits[b/8]>>(b%8)&1 != 0 {
			kept++
		} else {
			rest = append(rest, b)
		}
	}
	if l.Capture() && len(rest) > 0 {
		capture(t, l, r.Columns, 5, rest...)
	}
	return kept
}

const testExtent = 64 << 10

// fillExtent is how many blocks of a test table fill an extent, about.
const fillExtent = 280

func TestColdDataMakesRoomForHotterData(t *testing.T) {
	memory := &heap{size: testExtent}
	s := New(memory, Options{Limit: 3*testExtent + 40<<10})
	hot, cold := tableOf(1, 2*ChunkBlocks, start), tableOf(2, 2*ChunkBlocks, start)
	for range 3 {
		use(t, s, cold)
	}
	for range 20 {
		use(t, s, hot)
	}
	if kept := use(t, s, hot); kept < ChunkBlocks {
		t.Errorf("%d blocks of the hot table are kept", kept)
	}
	if c := s.Counters(); c.Evicted == 0 {
		t.Errorf("nothing was evicted: %+v", c)
	}
}

func TestLargeScanDoesNotEvictWhatIsHotter(t *testing.T) {
	memory := &heap{size: testExtent}
	s := New(memory, Options{Limit: 16 * testExtent})
	hot := tableOf(1, ChunkBlocks, start)
	for range 10 {
		use(t, s, hot)
	}
	large := tableOf(2, 20*ChunkBlocks, start)
	for range 5 {
		use(t, s, large)
		if kept := use(t, s, hot); kept != ChunkBlocks {
			t.Fatalf("%d of %d blocks of the hot table are left after a scan of a table ten times the limit", kept, ChunkBlocks)
		}
	}
	// What fits of the large table stays, although the rest of it was used as often.
	before := use(t, s, large)
	if after := use(t, s, large); before == 0 || after != before {
		t.Errorf("%d blocks of the large table were kept, then %d", before, after)
	}
	if n := s.Counters().Evicted; n != 0 {
		t.Errorf("%d bytes of the large table were evicted for other parts of it", n)
	}
	if s.Open(large).Capture() {
		t.Error("a scan captures for which there is no room")
	}
}

// A use that has no memory for the rows of all blocks captures whole chunks of them, and the next
// one captures others.
func TestCaptureOfAPart(t *testing.T) {
	s := New(&heap{size: 1 << 20}, Options{Limit: 16 << 20})
	const blocks = 4*ChunkBlocks + 100
	for i, want := range []struct {
		most, part int64
		end        uint32
		reason     string
	}{
		{ChunkBlocks - 1, 0, 0, reasonDeclined},
		{2*ChunkBlocks + 7, 2 * ChunkBlocks, 2 * ChunkBlocks, reasonPart},
		{ChunkBlocks, ChunkBlocks, 3 * ChunkBlocks, reasonPart},
		{blocks, ChunkBlocks + 100, blocks, ""},
		{0, 0, blocks, ""},
	} {
		l := s.Open(tableOf(1, blocks, start))
		kept, _, _ := l.Blocks(0)
		if got := l.CaptureFirst(want.most); got != want.part || l.Capturing() != want.part || l.CaptureEnd() != want.end || l.t.last.Reason != want.reason {
			t.Errorf("use %d: captures %d blocks before %d: %q", i, got, l.CaptureEnd(), l.t.last.Reason)
		}
		if end := l.CaptureEnd(); end < blocks {
			err := l.Captured(segmentOf(allColumns, idsOf(int(end))), []Block{{Number: end, LSN: 5}}, &source{})
			if !errors.Is(err, ErrLease) {
				t.Errorf("use %d: a block behind the part was captured: %v", i, err)
			}
		}
		var rest []int
		for b := range int(l.CaptureEnd()) {
			if kept[b/8]>>(b%8)&1 == 0 {
				rest = append(rest, b)
			}
		}
		if int64(len(rest)) != want.part {
			t.Errorf("use %d: %d blocks are to be captured", i, len(rest))
		}
		if len(rest) > 0 {
			capture(t, l, allColumns, 5, rest...)
		}
		l.Close(true)
		s.Drain()
	}
}

// Parts of a table that are evicted at once, because jobs need the memory, are not captured in vain
// by every use.
func TestCaptureOfAPartThatDoesNotStay(t *testing.T) {
	s := New(&heap{size: 1 << 20}, Options{Limit: 16 << 20, Interest: 16 * time.Minute})
	for i, part := range []int64{0, ChunkBlocks, ChunkBlocks, 0, 0, ChunkBlocks} {
		r := tableOf(1, 4*ChunkBlocks, start.Add(time.Duration(i)*20*time.Second))
		if r.Policy = Auto; i == 5 {
			r.Now = r.Now.Add(time.Minute)
		}
		l := s.Open(r)
		if i == 0 {
			l.Close(true)
			continue
		}
		if got := l.CaptureFirst(ChunkBlocks); got != part || l.CaptureFirst(ChunkBlocks) != part {
			t.Errorf("use %d: captures %d blocks", i, got)
		}
		if part > 0 {
			var blocks []int
			for b := range ChunkBlocks {
				blocks = append(blocks, int(l.CaptureEnd())-ChunkBlocks+b)
			}
			capture(t, l, allColumns, 5, blocks...)
		}
		l.Close(true)
		s.Drain()
		switch i {
		case 2, 3:
			s.Shrink(1 << 30)
		case 4: // another query has captured more
			r.Policy, r.Blocks = Always, 2*ChunkBlocks
			use(t, s, r)
		}
	}
}

func TestOldUsesCountLess(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 4 * testExtent, Interest: time.Minute})
	old := tableOf(1, 4*ChunkBlocks, start)
	for range 50 {
		use(t, s, old)
	}
	other := tableOf(2, 4*ChunkBlocks, start.Add(20*time.Minute))
	use(t, s, other)
	if kept := use(t, s, other); kept == 0 {
		t.Error("nothing is kept of a table that is in use, because of one that was 20 half-lives ago")
	}
}

func TestEvictionLeavesLeases(t *testing.T) {
	memory := &heap{size: testExtent}
	s := New(memory, Options{Limit: 1 << 20})
	r := tableOf(1, ChunkBlocks, start)
	use(t, s, r)
	l := s.Open(r)
	if freed := s.Shrink(1 << 30); freed != 0 {
		t.Errorf("%d bytes of leased memory were given back", freed)
	}
	if freed := s.Forget(func(*TableInfo) bool { return true }); freed == 0 {
		t.Error("nothing was forgotten")
	}
	var ids []int64
	for b := range ChunkBlocks {
		ids = append(ids, idsOf(b)...)
	}
	if got := rowsOf(t, r.Columns, l.Segments()); !slices.Equal(got, wantedRows(r.Columns, ids)) {
		t.Error("the rows of a lease have changed when its table was forgotten")
	}
	if memory.live == 0 {
		t.Error("leased memory was given back")
	}
	l.Close(true)
	s.Shrink(1 << 30)
	if c := s.Counters(); memory.live != 0 || c.Bytes != 0 {
		t.Errorf("%d extents are left: %+v", memory.live, c)
	}
}

func TestRewrittenTableIsEvictedFirst(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 4 * testExtent})
	r := tableOf(1, 4*ChunkBlocks, start)
	for range 50 {
		use(t, s, r)
	}
	r.Table.File = 99
	r.Policy = Auto
	if kept := use(t, s, r); kept != 0 {
		t.Fatalf("%d blocks of a new file are kept", kept)
	}
	if kept := use(t, s, r); kept == 0 {
		t.Error("the new file of a hot table is not captured at its first use")
	}
}

func TestAutoCapturesAtTheSecondUse(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20, Interest: time.Minute})
	for i, c := range []struct {
		at      time.Duration
		columns []Column
		capture bool
	}{
		{0, []Column{idColumn}, false},
		{2 * time.Minute, []Column{idColumn}, false},
		{2*time.Minute + time.Second, []Column{idColumn, nullColumn}, false},
		{2*time.Minute + time.Second, nil, false},
		{3 * time.Minute, []Column{nullColumn}, true},
	} {
		r := tableOf(1, 10, start.Add(c.at))
		r.Policy, r.Columns = Auto, c.columns
		l := s.Open(r)
		if l.Capture() != c.capture {
			t.Errorf("use %d: captures: %v", i, l.Capture())
		}
		l.Close(true)
	}
}

func TestStoreWithoutMemory(t *testing.T) {
	for _, o := range []Options{{}, {Limit: testExtent - 1}} {
		s := New(&heap{size: testExtent}, o)
		if l := s.Open(tableOf(1, 10, start)); l.Kept() || l.Captured(joincore.Segment{}, nil, nil) == nil {
			t.Errorf("a store of %d bytes captures", o.Limit)
		}
	}
	memory := &heap{size: testExtent, most: 1}
	s := New(memory, Options{Limit: 1 << 20})
	other, _ := memory.Extent()
	from := &source{}
	l := s.Open(tableOf(1, 10, start))
	if err := l.Captured(segmentOf(allColumns, idsOf(0)), []Block{{LSN: 5}}, from); err != nil {
		t.Fatal(err)
	}
	l.Close(true)
	s.Drain()
	if c := s.Counters(); from.refs.Load() != 0 || c.Refused == 0 || c.Bytes != 0 {
		t.Errorf("without extents: %d references, %+v", from.refs.Load(), c)
	}
	other.Release()
}

func TestTableWithoutMemoryIsCapturedAgainLater(t *testing.T) {
	memory := &heap{size: testExtent, most: 1}
	s := New(memory, Options{Limit: 1 << 20, Interest: 16 * time.Minute})
	other, _ := memory.Extent()
	for i, capture := range []bool{false, true, false, false, true, false, false} {
		r := tableOf(1, 10, start.Add(time.Duration(i)*20*time.Second))
		r.Policy = Auto
		if l := s.Open(r); l.Capture() != capture {
			t.Errorf("use %d: captures: %v", i, l.Capture())
		} else {
			l.Close(true)
		}
		if i > 0 {
			use(t, s, r)
		}
	}
	other.Release()
}

func TestShrinkDropsWhatIsNotCopied(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	r := tableOf(1, 10, start)
	l := s.Open(r)
	from := &source{}
	if err := l.Captured(segmentOf(allColumns, idsOf(0)), []Block{{LSN: 5}}, from); err != nil {
		t.Fatal(err)
	}
	l.Close(true)
	if freed := s.Shrink(1); freed != 0 || from.refs.Load() != 1 {
		t.Errorf("%d bytes were freed, %d references", freed, from.refs.Load())
	}
	s.Drain()
	if c := s.Counters(); from.refs.Load() != 0 || c.Bytes != 0 {
		t.Errorf("%d references, %+v", from.refs.Load(), c)
	}
}

func TestFewNewBlocksAreKeptInTheEnd(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	r := tableOf(1, ChunkBlocks, start)
	use(t, s, r)
	r.Groups[0].LSN = 8
	for i := range 10 {
		l := s.Open(r)
		kept, prove, _ := l.Blocks(0)
		if kept[0]&1 != 0 {
			if i < 2 {
				t.Errorf("a chunk was copied because of %d blocks", i)
			}
			return
		}
		prove[0] &^= 1 // block 0 has changed
		if err := l.Proved(0, prove); i == 0 && err != nil {
			t.Fatal(err)
		}
		capture(t, l, r.Columns, 6, 0)
		l.Close(true)
		s.Drain()
	}
	t.Error("a block was captured ten times and is not kept")
}

func TestCyclesLeaveNothing(t *testing.T) {
	memory := &heap{size: testExtent}
	limit := int64(4*testExtent + 60<<10)
	s := New(memory, Options{Limit: limit})
	rnd := rand.New(rand.NewPCG(1, 2))
	var leases []*Lease
	var sources []*source
	for i := range 10000 {
		r := tableOf(uint32(rnd.IntN(6)), 20+rnd.IntN(fillExtent), start.Add(time.Duration(i)*time.Minute))
		r.Columns = someColumns(rnd)
		r.Groups[0].LSN = 7 + uint64(i/100)
		l := s.Open(r)
		if l.Capture() {
			b := rnd.IntN(int(r.Blocks))
			kept, _, _ := l.Blocks(0)
			for n := 0; n < 20 && b < int(r.Blocks); n, b = n+1, b+1 {
				if kept[b/8]>>(b%8)&1 != 0 {
					continue
				}
				from := &source{}
				sources = append(sources, from)
				if err := l.Captured(segmentOf(r.Columns, idsOf(b)), []Block{{Number: uint32(b), LSN: uint64(5 + rnd.IntN(3))}}, from); err != nil {
					t.Fatal(err)
				}
			}
		}
		leases = append(leases, l)
		if len(leases) > 3 {
			n := rnd.IntN(len(leases))
			l = leases[n]
			leases = slices.Delete(leases, n, n+1)
			rowsOf(t, l.request.Columns, l.Segments())
			l.Close(rnd.IntN(10) > 0)
		}
		switch rnd.IntN(40) {
		case 0:
			s.Shrink(rnd.Int64N(limit))
		case 1:
			s.Forget(func(info *TableInfo) bool { return info.Table.File == r.Table.File })
		default:
			s.step()
		}
		if c := s.Counters(); c.Bytes > limit || int64(memory.live)*testExtent > limit {
			t.Fatalf("cycle %d: %d bytes, %d extents, limit %d", i, c.Bytes, memory.live, limit)
		}
	}
	for _, l := range leases {
		l.Close(true)
	}
	s.Drain()
	c := s.Counters()
	if c.Captured == 0 || c.Evicted == 0 {
		t.Errorf("the cycles do not capture or evict: %+v", c)
	}
	s.Shrink(1 << 40)
	if c := s.Counters(); c.Bytes != 0 || c.Values != 0 || c.Pending != 0 || memory.live != 0 || s.pieces != 0 || len(s.Tables()) != 0 {
		t.Errorf("left: %+v, %d extents, %d pieces", c, memory.live, s.pieces)
	}
	for i, from := range sources {
		if from.refs.Load() != 0 {
			t.Fatalf("source %d has %d references", i, from.refs.Load())
		}
	}
}

func TestMemoryOfReplacedColumnsComesBack(t *testing.T) {
	memory := &heap{size: testExtent}
	s := New(memory, Options{Limit: 64 * testExtent})
	const chunks = 16
	r := tableOf(1, chunks*ChunkBlocks, start)
	r.Columns = []Column{idColumn, textColumn}
	use(t, s, r) // one chunk fills an extent, of which the texts are most
	before := memory.live
	s.tables[r.Table].each(func(_ int, p *piece) { p.vain = 3 })
	// The texts are captured again, with newer LSNs.
	var blocks []int
	var ids []int64
	for b := range int(r.Blocks) {
		blocks = append(blocks, b)
		ids = append(ids, idsOf(b)...)
	}
	texts := *r
	texts.Columns, texts.Groups = []Column{textColumn}, []Group{allVisible(8)}
	texts.Groups[0].Visible = nil
	l := s.Open(&texts)
	capture(t, l, texts.Columns, 6, blocks...)
	l.Close(true)
	s.Drain()
	if before < chunks || memory.live > before+chunks/2 {
		t.Errorf("%d extents before, %d after", before, memory.live)
	}
	s.tables[r.Table].each(func(chunk int, p *piece) {
		if p.column == 0 && p.vain != 3 {
			t.Errorf("chunk %d: what was captured in vain is forgotten when it is moved", chunk)
		}
	})
	for _, c := range r.Columns {
		r.Columns = []Column{c}
		l := s.Open(r)
		_, prove, _ := l.Blocks(0)
		if err := l.Proved(0, prove); err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, r.Columns, l.Segments()); !slices.Equal(got, wantedRows(r.Columns, ids)) {
			t.Errorf("column %d: rows have changed", c.Attnum)
		}
		l.Close(true)
	}
}

func TestWaitingWorkIsDoneInTheBackground(t *testing.T) {
	s := New(&heap{size: testExtent}, Options{Limit: 1 << 20})
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { s.Work(ctx); close(done) }()
	r := tableOf(1, 10, start)
	l := s.Open(r)
	capture(t, l, r.Columns, 5, 0, 1)
	l.Close(true)
	for s.Counters().Captured == 0 {
		time.Sleep(time.Millisecond)
	}
	stop()
	<-done
}
