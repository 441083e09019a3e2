package mirror

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gpujoin/sidecar/mirror/encode"
)

const testExtent = 64 << 10

// pinned checks what a new pin sees of table 1.
func pinned(t *testing.T, s *Server, want ...record) {
	t.Helper()
	p := s.Pin()
	defer p.Close()
	wantRows(t, p, 1, want...)
}

func TestChangesAreSeenFromTheirCommitOn(t *testing.T) {
	m := ready(t, &heap{size: testExtent}, recordsOf(0, 10, 0)...)
	before := m.s.Pin()
	defer before.Close()
	m.begin(insertOf(1, rec(10, 1)), updateOf(1, rec(3, 1)), deleteOf(1, 4))
	pinned(t, m.s, recordsOf(0, 10, 0)...)
	m.commit()
	want := append(recordsOf(0, 3, 0), rec(3, 1), rec(10, 1))
	want = append(want, recordsOf(5, 10, 0)...)
	pinned(t, m.s, want...)
	wantRows(t, before, 1, recordsOf(0, 10, 0)...)
	if before.Position() != 0 || m.s.Position() != 15 || m.s.Newest() != time.Unix(10, 0) {
		t.Errorf("positions %d, %d, time %v", before.Position(), m.s.Position(), m.s.Newest())
	}
}

func TestTransactionThatIsCutOffLeavesNothing(t *testing.T) {
	m := ready(t, &heap{size: testExtent}, recordsOf(0, 100, 0)...)
	for range 3 {
		changes := []Change{deleteOf(1, 5), updateOf(1, rec(6, 1)), {Table: 1, Op: Update, Key: keyOf(7), New: rec(107, 1).row(false)}}
		for id := int64(1000); id < 3000; id++ { // seals the tail
			changes = append(changes, insertOf(1, rec(id, 0)))
		}
		changes = append(changes, deleteOf(1, 1000), updateOf(1, rec(2000, 1)))
		m.begin(changes...)
		m.s.Abort()
		pinned(t, m.s, recordsOf(0, 100, 0)...)
		m.begin(deleteOf(1, 1), Change{Table: 1, Op: Truncate}, insertOf(1, rec(1, 1)), Change{Table: 1, Op: Truncate}, insertOf(1, rec(1, 1)))
		m.s.Abort()
		pinned(t, m.s, recordsOf(0, 100, 0)...)
	}
	m.changes(deleteOf(1, 0), insertOf(1, rec(100, 0)))
	pinned(t, m.s, recordsOf(1, 101, 0)...)
}

func TestUpdateTakesUnchangedValuesFromTheOldVersion(t *testing.T) {
	m := ready(t, &heap{size: testExtent}, recordsOf(0, 5, 0)...)
	want := recordsOf(0, 5, 0)
	for i := range want {
		number := int32(77)
		want[i].number = &number
		m.changes(Change{Table: 1, Op: Update, New: want[i].row(true)})
	}
	pinned(t, m.s, want...)
	want[2].id = 9
	m.changes(Change{Table: 1, Op: Update, Key: keyOf(2), New: want[2].row(true)})
	pinned(t, m.s, want...)
}

func TestTruncate(t *testing.T) {
	m := ready(t, &heap{size: testExtent}, recordsOf(0, 3000, 0)...)
	before := m.s.Pin()
	m.changes(insertOf(1, rec(5000, 0)), Change{Table: 1, Op: Truncate}, insertOf(1, rec(1, 1)), Change{Table: 1, Op: Truncate}, insertOf(1, rec(1, 2)))
	pinned(t, m.s, rec(1, 2))
	wantRows(t, before, 1, recordsOf(0, 3000, 0)...)
	m.changes(Change{Table: 1, Op: Truncate})
	pinned(t, m.s)
	before.Close()
	m.s.Received(m.lsn + 100)
	if n := len(m.s.tables[1].rows.published.segments); n != 0 {
		t.Errorf("%d segments are left", n)
	}
}

func TestPinnedBytesStay(t *testing.T) {
	memory := &heap{size: testExtent}
	m := ready(t, memory)
	var pins []*Pin
	for id := range int64(500) {
		m.changes(insertOf(1, rec(id, 0)))
		p := m.s.Pin()
		wantRows(t, p, 1, recordsOf(0, id+1, 0)...)
		pins = append(pins, p)
	}
	m.changes(deleteOf(1, 0))
	for i, p := range pins {
		wantRows(t, p, 1, recordsOf(0, int64(i)+1, 0)...)
		p.Close()
		p.Close()
	}
	if _, err := pins[0].Relation(1, nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("error %v of a closed pin", err)
	}
	m.s.Fail(1, errors.New("for a test"))
	if extents, besides := m.s.Bytes(); memory.live != 0 || extents != 0 || besides != 0 {
		t.Errorf("%d extents of %d bytes, and %d bytes beside them are left", memory.live, extents, besides)
	}
}

func TestFaultsFailTheTable(t *testing.T) {
	null, short := rec(1, 0).row(false), rec(1, 0).row(false)
	null.Fields[0].State = encode.Null
	short.Fields = short.Fields[:2]
	wide := rec(50, 0).row(false)
	wide.Fields[2] = encode.Field{State: encode.Present, From: 0, To: 3}
	long := string(make([]byte, testExtent))
	for _, c := range []struct {
		name   string
		change Change
		want   error
	}{
		{"a row that is deleted is not there", deleteOf(1, 50), ErrInconsistent},
		{"a row that is updated is not there", updateOf(1, rec(50, 0)), ErrInconsistent},
		{"a row is there", insertOf(1, rec(5, 1)), ErrInconsistent},
		{"a changed key is there", Change{Table: 1, Op: Update, Key: keyOf(2), New: rec(3, 0).row(false)}, ErrInconsistent},
		{"a NULL", Change{Table: 1, Op: Insert, New: null}, ErrInconsistent},
		{"a row without a value", Change{Table: 1, Op: Insert, New: short}, ErrInconsistent},
		{"an update without a value", Change{Table: 1, Op: Update, New: short}, ErrInconsistent},
		{"a value of another width", Change{Table: 1, Op: Insert, New: wide}, ErrInconsistent},
		{"no old version", Change{Table: 1, Op: Insert, New: rec(60, 0).row(true)}, ErrInconsistent},
		{"no key", Change{Table: 1, Op: Delete}, ErrInconsistent},
		{"no such change", Change{Table: 1, Op: 9}, ErrInconsistent},
		{"a value longer than an extent", insertOf(1, record{id: 60, text: &long}), ErrTooLong},
	} {
		t.Run(c.name, func(t *testing.T) {
			memory := &heap{size: testExtent}
			m := ready(t, memory, recordsOf(0, 10, 0)...)
			join(t, m.s, 2, 0, recordsOf(0, 10, 0)...)
			before := m.s.Pin()
			relation, err := before.Relation(1, allColumns)
			if err != nil {
				t.Fatal(err)
			}
			m.begin(insertOf(1, rec(20, 0)), insertOf(2, rec(20, 0)))
			var failed *TableError
			if err := m.s.Change(&c.change); !errors.Is(err, c.want) || !errors.As(err, &failed) || failed.Table != 1 {
				t.Fatalf("error %v", err)
			}
			if err := m.s.Change(&c.change); err != nil {
				t.Errorf("error %v of a table that has failed", err)
			}
			m.commit()
			// What a pin has stays, and the other tables go on.
			if got, err := readRows(relation, allColumns); err != nil || len(got) != 10 {
				t.Errorf("%d rows, %v", len(got), err)
			}
			if _, err := before.Relation(1, allColumns); !errors.Is(err, ErrNotReady) {
				t.Errorf("error %v", err)
			}
			before.Close()
			p := m.s.Pin()
			wantRows(t, p, 2, append(recordsOf(0, 10, 0), rec(20, 0))...)
			p.Close()
			if status := m.s.Tables(nil); len(status) != 2 || status[0].State != StateFailed || !errors.Is(status[0].Err, c.want) || status[1].Rows != 11 {
				t.Errorf("%+v", status)
			}
			if err := errors.Join(m.s.Drop(1), m.s.Drop(2)); err != nil {
				t.Error(err)
			}
			if extents, besides := m.s.Bytes(); memory.live != 0 || extents != 0 || besides != 0 {
				t.Errorf("%d extents of %d bytes, and %d bytes beside them are left", memory.live, extents, besides)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	m := ready(t, &heap{size: testExtent})
	change := insertOf(1, rec(1, 0))
	wrong := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrOrder) {
			t.Errorf("error %v", err)
		}
	}
	m.begin()
	wrong(m.s.Transact(20))
	wrong(m.s.Change(&Change{Table: 99}))
	wrong(m.s.Commit(m.lsn, time.Time{}))
	m.commit()
	_, err := m.s.Begin(testTable(1))
	wrong(err)
	// A transaction that is repeated changes nothing, nor does an older position.
	m.changes(change)
	m.lsn -= 10
	m.changes(change, change)
	m.s.Received(1)
	if m.s.Position() != 25 {
		t.Errorf("position %d", m.s.Position())
	}
	pinned(t, m.s, rec(1, 0))
	// Without Transact.
	more := insertOf(1, rec(2, 0))
	if err := errors.Join(m.s.Change(&more), m.s.Commit(40, time.Time{}), m.s.Commit(50, time.Time{})); err != nil || m.s.Position() != 50 {
		t.Errorf("position %d, error %v", m.s.Position(), err)
	}
	pinned(t, m.s, rec(1, 0), rec(2, 0))
	_ = m.s.Change(&more) // fails the table
	m.s.Reset(errors.New("for a test"))
	join(t, m.s, 1, 3, rec(3, 0))
	m.s.Received(3)
	pinned(t, m.s, rec(3, 0))
}

func TestJoin(t *testing.T) {
	m := ready(t, &heap{size: testExtent})
	m.changes(insertOf(1, rec(1, 0))) // up to 15
	l, err := m.s.Begin(testTable(2))
	if err != nil {
		t.Fatal(err)
	}
	m.changes(insertOf(2, rec(7, 0))) // up to 25: the table loads
	n, columns := batchOf(recordsOf(0, 5, 0)...)
	if err := l.Batch(n, columns); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Change{insertOf(2, rec(7, 0)), deleteOf(2, 0)} { // the transaction that commits at 20
		if err := l.Change(&c); err != nil {
			t.Fatal(err)
		}
	}
	m.begin(insertOf(1, rec(2, 0)))
	for _, late := range []LSN{20, 25, 30} {
		if err := l.Join(late); !errors.Is(err, ErrLate) {
			t.Errorf("Join(%d): error %v", late, err)
		}
	}
	if err := l.Join(45); err != nil { // it has the transaction that commits at 40 too
		t.Fatal(err)
	}
	m.commit()
	p := m.s.Pin()
	if _, err := p.Relation(2, nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("error %v of a table ahead of the stream", err)
	}
	m.changes(insertOf(1, rec(4, 0)), insertOf(2, rec(8, 0))) // the table has it
	m.changes(insertOf(2, rec(9, 0)))
	if _, err := p.Relation(2, nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("error %v of a table that has joined behind a pin", err)
	}
	p.Close()
	p = m.s.Pin()
	defer p.Close()
	wantRows(t, p, 2, append(recordsOf(1, 5, 0), rec(7, 0), rec(9, 0))...)
	if err := l.Batch(n, columns); !errors.Is(err, ErrOrder) {
		t.Errorf("error %v of a batch for a table that has joined", err)
	}
}

func TestKeepaliveLetsATableJoin(t *testing.T) {
	m := ready(t, &heap{size: testExtent})
	join(t, m.s, 2, 100, rec(1, 0))
	m.begin()
	m.s.Received(200) // says nothing of the open transaction
	if m.s.Position() != 0 {
		t.Errorf("position %d", m.s.Position())
	}
	m.commit()
	m.s.Received(100)
	p := m.s.Pin()
	defer p.Close()
	wantRows(t, p, 2, rec(1, 0))
}

func TestLoadThatFails(t *testing.T) {
	memory := &heap{size: testExtent}
	s := New(memory, Options{Limit: 4 * testExtent})
	l, err := s.Begin(testTable(1))
	if err != nil {
		t.Fatal(err)
	}
	n, columns := batchOf(recordsOf(0, 100, 0)...)
	if err := l.Batch(n, columns); err != nil {
		t.Fatal(err)
	}
	if err := l.Batch(n, columns); !errors.Is(err, ErrInconsistent) { // the same keys
		t.Errorf("error %v", err)
	}
	if err := l.Join(0); !errors.Is(err, ErrInconsistent) {
		t.Errorf("error %v", err)
	}
	if l, err = s.Begin(testTable(1)); err != nil {
		t.Fatal(err)
	}
	for from := int64(0); err == nil; from += 100 {
		n, columns := batchOf(recordsOf(from, from+100, 0)...)
		err = l.Batch(n, columns)
	}
	if !errors.Is(err, ErrMemory) {
		t.Errorf("error %v", err)
	}
	if l, err = s.Begin(testTable(1)); err != nil {
		t.Fatal(err)
	}
	l.Cancel(errors.New("for a test"))
	if extents, besides := s.Bytes(); memory.live != 0 || extents != 0 || besides != 0 {
		t.Errorf("%d extents of %d bytes, and %d bytes beside them are left", memory.live, extents, besides)
	}
}

func TestRewritingKeepsWhatPinsSee(t *testing.T) {
	m := ready(t, &heap{size: testExtent}, recordsOf(0, 8000, 0)...)
	old := m.s.Pin()
	var changes []Change
	want := []record{}
	for id := range int64(8000) {
		if id%5 < 3 {
			changes = append(changes, deleteOf(1, id))
		} else {
			want = append(want, rec(id, 0))
		}
	}
	m.changes(changes...)
	if m.s.Step() {
		t.Error("segments are rewritten whose deletions a pin does not see")
	}
	wantRows(t, old, 1, recordsOf(0, 8000, 0)...)
	old.Close()
	between := m.s.Pin()
	defer between.Close()
	segments := len(m.s.tables[1].rows.published.segments)
	w := m.s.plan()
	if w == nil || w.copy() != nil {
		t.Fatal("nothing is rewritten")
	}
	m.changes(deleteOf(1, 3), updateOf(1, rec(4, 1))) // while it is
	m.begin(deleteOf(1, 8))
	m.s.finish(w) // has to wait
	m.s.Abort()
	for m.s.Step() {
	}
	wantRows(t, between, 1, want...)
	want = append(slices.Clone(want[2:]), rec(4, 1))
	pinned(t, m.s, want...)
	m.changes(deleteOf(1, 8), updateOf(1, rec(7998, 1)), insertOf(1, rec(0, 0)))
	if after := len(m.s.tables[1].rows.published.segments); after >= segments {
		t.Errorf("%d segments, %d before", after, segments)
	}
}

func TestWaitFor(t *testing.T) {
	m := ready(t, &heap{size: testExtent})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := m.s.WaitFor(ctx, 10); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	done := make(chan error)
	go func() { done <- m.s.WaitFor(context.Background(), 30) }()
	m.changes()
	m.changes()
	select {
	case err := <-done:
		t.Errorf("it has waited for 30, and ended at %d with error %v", m.s.Position(), err)
	case <-time.After(5 * time.Millisecond):
	}
	m.s.Received(30)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Few deleted rows are cut out, many are copied around, and a segment that is copied often is
// rewritten, so that later readers copy nothing.
func TestScatteredDeletions(t *testing.T) {
	m := ready(t, &heap{size: benchExtent}, recordsOf(0, 70000, 0)...)
	remove := func(ids ...int64) {
		var changes []Change
		for _, id := range ids {
			changes = append(changes, deleteOf(1, id))
		}
		m.changes(changes...)
	}
	segments := func() (segs, scratch int) {
		p := m.s.Pin()
		defer p.Close()
		relation, err := p.Relation(1, []int{0})
		if err != nil {
			t.Fatal(err)
		}
		return len(relation.Segments), len(p.scratch)
	}
	remove(100, 20000)
	if segs, scratch := segments(); segs != 4 || scratch != 0 { // three slices, and the tail
		t.Errorf("%d segments, %d copies", segs, scratch)
	}
	var ids []int64
	for id := int64(10); id < 60000; id += 150 {
		ids = append(ids, id)
	}
	remove(ids...)
	if m.s.Step() {
		t.Error("a segment is rewritten that nobody reads")
	}
	for range mostCopies {
		if segs, scratch := segments(); segs != 2 || scratch == 0 {
			t.Errorf("%d segments, %d copies", segs, scratch)
		}
	}
	select {
	case <-m.s.garbage:
	default:
		t.Error("nobody is told that there is something to rewrite")
	}
	if !m.s.Step() || m.s.Step() {
		t.Error("it is not rewritten, or again")
	}
	if segs, scratch := segments(); segs != 2 || scratch != 0 {
		t.Errorf("%d segments, %d copies", segs, scratch)
	}
	var want []record
	for id := range int64(70000) {
		if id != 100 && id != 20000 && (id%150 != 10 || id >= 60000) {
			want = append(want, rec(id, 0))
		}
	}
	pinned(t, m.s, want...)
}

// Readers' copies leave an eighth of the limit to the stream: without memory for a copy, a pin cuts
// a segment into slices.
func TestReadersLeaveMemoryToTheStream(t *testing.T) {
	memory := &heap{size: testExtent}
	s := New(memory, Options{Limit: 16 * testExtent})
	join(t, s, 1, 0, recordsOf(0, 12000, 0)...)
	m := &stream{t: t, s: s}
	var changes []Change
	want := recordsOf(12000, 12500, 0)
	for id := range int64(12000) {
		if id%20 == 0 {
			changes = append(changes, deleteOf(1, id))
		} else {
			want = append(want, rec(id, 0))
		}
	}
	for _, r := range recordsOf(12000, 12500, 0) {
		changes = append(changes, insertOf(1, r))
	}
	m.changes(changes...)
	var pins []*Pin
	for range 20 {
		p := s.Pin()
		wantRows(t, p, 1, want...)
		pins = append(pins, p)
	}
	extents, besides := s.Bytes()
	if held := extents + besides; held > 14*testExtent+s.arena.limit/64 {
		t.Errorf("%d bytes are held of %d", held, s.arena.limit)
	}
	m.changes(insertOf(1, rec(20000, 0)), deleteOf(1, 1))
	for _, p := range pins {
		wantRows(t, p, 1, want...)
		p.Close()
	}
}
