package mirror

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/mirror/pgout"
)

// formTypes are the columns of a table whose values have other forms; the first one is its key.
var formTypes = []encode.Type{{OID: 20}, {OID: 1042}, {OID: 1082}, {OID: 701}, {OID: 1700, Form: encode.Decimal, Scale: 2}}

// formColumns are the table's columns, as they are encoded.
var formColumns = func() (out encode.Columns) {
	for i, t := range formTypes {
		e, err := encode.New(t)
		if err != nil {
			panic(err)
		}
		out = append(out, encode.Source{Encoder: e, From: i})
	}
	return out
}()

func formTable(oid uint32) *Table {
	t := &Table{Schema: "public", Name: "forms", OID: oid, Key: []int{0}}
	for i, of := range formTypes {
		t.Columns = append(t.Columns, Column{
			Name: fmt.Sprint("c", i), Attnum: int16(i + 1), Type: of.OID, NotNull: i == 0, Form: int(of.Form), Scale: of.Scale, Physical: formColumns[i].Encoder.Column(),
		})
	}
	return t
}

// formTuple is a row as it is sent; some values are NULL.
func formTuple(id, version int64) pgout.Tuple {
	n := id*7 + version
	t := pgout.Tuple{
		{Kind: pgout.Binary, Data: binary.BigEndian.AppendUint64(nil, uint64(id))},
		{Kind: pgout.Binary, Data: fmt.Appendf(nil, "%-*d", int(n%23)+1, n)},
		{Kind: pgout.Binary, Data: binary.BigEndian.AppendUint32(nil, uint32(n))},
		{Kind: pgout.Binary, Data: binary.BigEndian.AppendUint64(nil, uint64(n)<<40)},
		{Kind: pgout.Binary, Data: []byte{0, 1, 0, 0, 0, 0, 0, 2, byte(n % 9), 1}},
	}
	for i := 1; i < len(t); i++ {
		if (n+int64(i))%5 == 0 {
			t[i] = pgout.Value{Kind: pgout.Null}
		}
	}
	return t
}

func formRow(id, version int64) (out encode.Row) {
	if err := formColumns.Row(&out, formTuple(id, version)); err != nil {
		panic(err)
	}
	return out
}

// formsReady returns a server with a table of rows 0 to n-1.
func formsReady(t testing.TB, s *Server, n int64) *stream {
	t.Helper()
	l, err := s.Begin(formTable(1))
	if err != nil {
		t.Fatal(err)
	}
	b := encode.NewBatch(formColumns)
	for id := range n {
		if err := b.Add(formTuple(id, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if n > 0 {
		if err := l.Batch(b.Rows, b.Vectors); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Join(0); err != nil {
		t.Fatal(err)
	}
	return &stream{t: t, s: s}
}

// wantedForms are all columns as they are stored, and then forms of each but the key.
func wantedForms(t testing.TB) (out []Wanted) {
	t.Helper()
	for i := range formTypes {
		out = append(out, Wanted{Column: i})
	}
	for i, form := range []encode.Form{encode.BpcharKey, encode.DateKey, encode.FloatKey, encode.NumericKey} {
		d, err := encode.Derive(formTypes[i+1], form, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Wanted{Column: i + 1, Form: d})
	}
	return out
}

// checkForms checks that a relation of wantedForms has rows, each with the forms of its values.
func checkForms(t testing.TB, r joincore.Relation, rows int64) {
	t.Helper()
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if r.Rows() != rows {
		t.Errorf("%d rows, want %d", r.Rows(), rows)
	}
	wanted := wantedForms(t)
	value := func(seg *joincore.Segment, column, row int) []byte {
		v, c := &seg.Columns[column], r.Columns[column]
		if c.Kind == joincore.Varlena {
			return v.Variable(row)
		}
		return v.Values[c.Width*row : c.Width*(row+1)]
	}
	for i := range r.Segments {
		seg := &r.Segments[i]
		for row := range seg.Rows {
			id := int64(binary.LittleEndian.Uint64(value(seg, 0, row)))
			for j := len(formTypes); j < len(wanted); j++ {
				w := wanted[j]
				if seg.Columns[j].Null(row) != seg.Columns[w.Column].Null(row) {
					t.Fatalf("row %d, column %d: NULL in one form", id, w.Column)
				}
				if seg.Columns[j].Null(row) {
					continue
				}
				want, err := w.Form.Append(nil, value(seg, w.Column, row))
				if err != nil || !bytes.Equal(want, value(seg, j, row)) {
					t.Fatalf("row %d, column %d: %x, want %x, %v", id, w.Column, value(seg, j, row), want, err)
				}
			}
		}
	}
}

func readForms(t testing.TB, p *Pin, what Read) (joincore.Relation, int64) {
	t.Helper()
	what.Columns = wantedForms(t)
	r, total, err := p.Read(1, what)
	if err != nil {
		t.Fatal(err)
	}
	return r, total
}

// TestForms: pins see the forms of their rows, in segments that are full, that grow, that have deleted
// rows and that are rewritten; when the table is gone, so is all memory.
func TestForms(t *testing.T) {
	memory := &heap{size: 1 << 17}
	gone := map[uint64]bool{}
	var lock sync.Mutex
	s := New(memory, Options{Gone: func(content uint64) {
		lock.Lock()
		defer lock.Unlock()
		gone[content] = true
	}})
	m := formsReady(t, s, 20000)
	rnd := rand.New(rand.NewPCG(1, 1))
	live, next := int64(20000), int64(20000)
	type seen struct {
		pin  *Pin
		rows int64
	}
	pins := []seen{{s.Pin(), live}}
	first, _ := readForms(t, pins[0].pin, Read{})
	for step := range 60 {
		var all []Change
		for range rnd.IntN(300) {
			all = append(all, Change{Table: 1, Op: Insert, New: formRow(next, 1)})
			next, live = next+1, live+1
		}
		if step%3 == 0 {
			for id := int64(step * 97); id < int64(step*97+rnd.IntN(96)); id++ {
				all = append(all, Change{Table: 1, Op: Delete, Key: keyOf(id)})
				live--
			}
			all = append(all, Change{Table: 1, Op: Update, New: formRow(next-1-rnd.Int64N(3000), int64(step))})
		}
		m.changes(all...)
		pins = append(pins, seen{s.Pin(), live})
		if step%7 == 6 {
			for _, i := range rnd.Perm(len(pins)) {
				r, total := readForms(t, pins[i].pin, Read{})
				checkForms(t, r, pins[i].rows)
				if total != pins[i].rows {
					t.Errorf("%d rows in all, want %d", total, pins[i].rows)
				}
				if i%2 == 0 && len(pins) > 1 {
					pins[i].pin.Close()
					pins[i].pin = s.Pin()
					pins[i].rows = live
				}
			}
			for s.Step() {
			}
		}
	}
	for _, p := range pins {
		p.pin.Close()
	}
	s.Fail(1, errors.New("it is over"))
	if extents, besides := s.Bytes(); memory.live != 0 || extents != 0 || besides != 0 {
		t.Errorf("%d extents, %d bytes, %d bytes besides are left", memory.live, extents, besides)
	}
	for i := range first.Segments {
		for j := range first.Segments[i].Columns {
			if c := first.Segments[i].Columns[j].Content; c != 0 && !gone[c] {
				t.Errorf("content %d is not gone", c)
			}
		}
	}
	if len(gone) == 0 {
		t.Error("no content is gone")
	}
}

// TestFormsAreMadeOnce: two pins read the same bytes of a full segment, under the same name; what grows
// has none.
func TestFormsAreMadeOnce(t *testing.T) {
	s := New(&heap{size: 1 << 17}, Options{})
	formsReady(t, s, 17000)
	a, b := s.Pin(), s.Pin()
	defer a.Close()
	defer b.Close()
	first, _ := readForms(t, a, Read{})
	before := s.arena.spans
	second, _ := readForms(t, b, Read{})
	if s.arena.spans != before {
		t.Errorf("%d bytes of spans, then %d", before, s.arena.spans)
	}
	names := map[uint64]bool{}
	for i := range first.Segments {
		for j := range first.Columns {
			x, y := &first.Segments[i].Columns[j], &second.Segments[i].Columns[j]
			if unsafe.SliceData(x.Values) != unsafe.SliceData(y.Values) || x.Content != y.Content || x.From != y.From {
				t.Errorf("segment %d, column %d: made twice", i, j)
			}
			full := i < len(first.Segments)-1
			if (x.Content != 0) != full || full && names[x.Content] {
				t.Errorf("segment %d, column %d has the name %d", i, j, x.Content)
			}
			names[x.Content] = true
		}
	}
}

// TestFormsWithoutMemory: what mirrors have no memory for lies in that of the reader; without any, the
// read fails, and the mirror stays.
func TestFormsWithoutMemory(t *testing.T) {
	memory := &heap{size: 1 << 17}
	s := New(memory, Options{})
	formsReady(t, s, 17000)
	memory.most = memory.live
	for s.arena.spans < int64(memory.live)*memory.size-1<<12 { // fill the holes
		if _, err := s.arena.alloc(1 << 11); err != nil {
			break
		}
	}
	p := s.Pin()
	defer p.Close()
	extents := 0
	r, _ := readForms(t, p, Read{More: func() ([]byte, error) {
		extents++
		return make([]byte, memory.size), nil
	}})
	checkForms(t, r, 17000)
	if extents == 0 {
		t.Error("nothing lies in the reader's memory")
	}
	none := errors.New("no more")
	if _, _, err := p.Read(1, Read{Columns: wantedForms(t), More: func() ([]byte, error) { return nil, none }}); !errors.Is(err, none) {
		t.Errorf("error %v", err)
	}
	if _, _, err := p.Read(1, Read{Columns: wantedForms(t)}); !errors.Is(err, ErrMemory) {
		t.Errorf("error %v", err)
	}
	if _, total, err := p.Read(1, Read{Columns: wantedForms(t)[:1]}); err != nil || total != 17000 {
		t.Errorf("%d rows, %v", total, err)
	}
}

// TestFormsGiveWay: rows that arrive get the memory of forms that nobody reads.
func TestFormsGiveWay(t *testing.T) {
	fill := func(reading bool) (rows int64) {
		memory := &heap{size: 1 << 17}
		s := New(memory, Options{})
		m := formsReady(t, s, 17000)
		p := s.Pin()
		r, _ := readForms(t, p, Read{})
		memory.most = memory.live
		if !reading {
			p.Close()
		}
		for ; rows < 40000; rows++ {
			if err := s.Change(&Change{Table: 1, Op: Insert, New: formRow(17000+rows, 0)}); err != nil {
				if !errors.Is(err, ErrMemory) {
					t.Error(err)
				}
				break
			}
			m.commit()
			m.lsn += 10
		}
		if reading {
			checkForms(t, r, 17000)
			p.Close()
		}
		return rows
	}
	if with, without := fill(true), fill(false); with < 100 || without < with+5000 {
		t.Errorf("there is memory for %d rows beside forms that are read, for %d in place of them", with, without)
	}
}

// TestUnfitForm: a value without a representation fails reads of that form, and no others.
func TestUnfitForm(t *testing.T) {
	s := New(&heap{size: 1 << 17}, Options{})
	formsReady(t, s, 100)
	d, err := encode.Derive(formTypes[4], encode.Unscaled, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Pin()
	defer p.Close()
	for range 2 {
		if _, _, err := p.Read(1, Read{Columns: []Wanted{{Column: 4, Form: d}}}); !errors.Is(err, encode.ErrUnfit) {
			t.Errorf("error %v", err)
		}
	}
	r, _ := readForms(t, p, Read{})
	checkForms(t, r, 100)
}

// TestConcurrentForms: readers make forms of a tail that grows; the race detector sees whether they
// share bytes.
func TestConcurrentForms(t *testing.T) {
	s := New(&heap{size: 1 << 17}, Options{})
	m := formsReady(t, s, 100)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { s.Work(ctx) })
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				p := s.Pin()
				r, total, err := p.Read(1, Read{Columns: wantedForms(t)})
				if err != nil {
					t.Error(err)
					return
				}
				checkForms(t, r, total)
				p.Close()
			}
		})
	}
	for id := int64(100); id < 3000 && !t.Failed(); id++ {
		m.changes(Change{Table: 1, Op: Insert, New: formRow(id, 0)}, Change{Table: 1, Op: Update, New: formRow(id/2, 2)})
	}
	cancel()
	all.Wait()
}

// TestSample: a sample has so many different rows, of all parts of the table, and no deleted ones.
func TestSample(t *testing.T) {
	s := New(&heap{size: 1 << 17}, Options{})
	m := formsReady(t, s, 20000)
	var all []Change
	for id := int64(0); id < 20000; id += 3 {
		all = append(all, Change{Table: 1, Op: Delete, Key: keyOf(id)})
	}
	m.changes(all...)
	total := int64(20000 - len(all))
	p := s.Pin()
	defer p.Close()
	times := map[int64]int{}
	for seed := range uint64(30) {
		r, n := readForms(t, p, Read{Sample: &Sample{Rows: 500, Seed: seed}})
		checkForms(t, r, 500)
		if n != total {
			t.Errorf("%d rows in all, want %d", n, total)
		}
		here := map[int64]bool{}
		for i := range r.Segments {
			for row := range r.Segments[i].Rows {
				id := int64(binary.LittleEndian.Uint64(r.Segments[i].Columns[0].Values[8*row:]))
				if id%3 == 0 || here[id] {
					t.Fatalf("row %d is deleted, or there twice", id)
				}
				here[id] = true
				times[id/2000]++
			}
		}
	}
	for part, n := range times { // 1500 are expected of each tenth
		if n < 1300 || n > 1700 {
			t.Errorf("%d rows of part %d", n, part)
		}
	}
	for _, rows := range []int64{total, total + 5} {
		r, _ := readForms(t, p, Read{Sample: &Sample{Rows: rows}})
		checkForms(t, r, total)
	}
	if r, n, err := p.Read(1, Read{Sample: &Sample{Rows: 10}}); err != nil || r.Rows() != 10 || n != total {
		t.Errorf("%d of %d rows without columns, %v", r.Rows(), n, err)
	}
}
