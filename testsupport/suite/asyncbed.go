package suite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// gate is a Memory that blocks allocations while it is shut, which keeps work pending.
type gate struct {
	Arena
	mu      sync.Mutex
	passage chan struct{} // closed: open
	failing error
}

func newGate() *gate {
	g := &gate{passage: make(chan struct{})}
	g.open()
	return g
}

func (g *gate) shut() { g.set(make(chan struct{}), nil) }

func (g *gate) open() {
	c := make(chan struct{})
	close(c)
	g.set(c, nil)
}

// fail makes every later allocation fail.
func (g *gate) fail(err error) {
	g.open()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failing = err
}

// set also wakes blocked allocations.
func (g *gate) set(passage chan struct{}, failing error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.passage:
	default:
		close(g.passage)
	}
	g.passage, g.failing = passage, failing
}

func (g *gate) Alloc(n int64) ([]byte, error) {
	g.mu.Lock()
	passage := g.passage
	g.mu.Unlock()
	<-passage
	g.mu.Lock()
	failing := g.failing
	g.mu.Unlock()
	if failing != nil {
		return nil, failing
	}
	return g.Arena.Alloc(n)
}

// asyncBed is a device with one input whose rows are consecutive numbers from first on.
type asyncBed struct {
	*testing.T
	device.Device
	mem   *gate
	first uint64
	rows  int
	in    device.Space
	n     int // rows per chunk
}

const asyncRows = 1000

func newAsyncBed(t *testing.T, p device.Provider, first uint64) *asyncBed {
	t.Helper()
	b := &asyncBed{T: t, mem: newGate(), first: first, rows: asyncRows}
	var err error
	if b.Device, err = p.Open(b.mem, device.Options{Streams: 3, ChunkRows: 16, EmitRows: 16}); err != nil {
		t.Fatal(err)
	}
	b.n = min(16, b.ChunkRows())
	r := Keyed(b.rows, func(row int) uint64 { return first + uint64(row) })
	if b.in, err = b.Import(0, r); err != nil {
		t.Fatal(err)
	}
	return b
}

// close closes the device and checks that nothing is left allocated.
func (b *asyncBed) close() {
	b.Helper()
	b.Close()
	b.mem.empty(b.T, "async")
}

func (b *asyncBed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *asyncBed) stream() device.Stream {
	b.Helper()
	st, err := b.NewStream()
	b.must(err)
	if st.At() != b.At() {
		b.Fatalf("a stream of device %d is at %d", b.At(), st.At())
	}
	return st
}

// reading is a pending Gather into a batch.
type reading struct {
	b     *asyncBed
	first int
	batch *joincore.Batch
	count device.Count
}

var numberColumn = []joincore.ColumnRef{{Input: 0, Column: 0}}

// read gathers a chunk of the rows of a space, from the given row on.
func (b *asyncBed) read(st device.Stream, s device.Space, first int) *reading {
	values, validity := bytes.Repeat([]byte{0xee}, 8*b.n), bytes.Repeat([]byte{0xff}, (b.n+7)/8)
	r := &reading{b: b, first: first, batch: &joincore.Batch{Rows: b.n, Columns: []joincore.Vector{{Values: values, Validity: validity}}}}
	r.count = st.Gather(st.Scan(s, 0, first, b.n), 0, numberColumn, r.batch, 0, []int{0})
	b.local(r.count.At())
	return r
}

// local checks that a future is the device's, or known already.
func (b *asyncBed) local(at device.Location) {
	b.Helper()
	if at != b.At() && at != device.Host {
		b.Fatalf("a future of device %d is at %d", b.At(), at)
	}
}

// values waits for the rows and returns their values.
func (r *reading) values() []uint64 {
	r.b.Helper()
	n, err := r.count.Wait(r.b.Context())
	r.b.must(err)
	if n != int64(r.b.n) {
		r.b.Fatalf("%d rows, want %d", n, r.b.n)
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = valueAt(r.batch, i)
	}
	return out
}

// valueAt returns the value of a row in a batch of one column.
func valueAt(b *joincore.Batch, row int) uint64 {
	return binary.LittleEndian.Uint64(b.Columns[0].Values[8*row:])
}

// check waits for the rows and compares them with the input.
func (r *reading) check() {
	r.b.Helper()
	for i, v := range r.values() {
		if want := r.b.first + uint64(r.first+i); v != want {
			r.b.Fatalf("device %d, row %d is %d, want %d", r.b.At(), r.first+i, v, want)
		}
	}
}

// below is a condition that is true for the first rows of the input.
func (b *asyncBed) below(rows int) joincore.Expr {
	return &joincore.Compare{Op: joincore.Less, Left: numberColumn[0], Right: joincore.Int(int64(b.first) + int64(rows))}
}

// key is the input's only column.
func (b *asyncBed) key() *device.Key {
	column := Int64Columns(1)[0]
	key, _ := device.Keys([]joincore.KeyPair{{Left: numberColumn[0], Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
		func(joincore.ColumnRef) joincore.Column { return column })
	return key
}

// segments checks that a space is on the device and has the given rows.
func (b *asyncBed) segments(s device.Space, rows int) {
	b.Helper()
	n := 0
	for _, segment := range s.Segments() {
		if segment.At != b.At() {
			b.Fatalf("a segment of device %d lies at %d", b.At(), segment.At)
		}
		n += segment.Rows
	}
	if n != rows {
		b.Fatalf("%s rows, want %d", fmt.Sprint(s.Segments()), rows)
	}
}

// checkExchanged reads input 1 in chunks, segment by segment.
func checkExchanged(b *asyncBed, st device.Stream, want []uint64) {
	b.Helper()
	for segment, s := range b.in.Segments() {
		for at := 0; at < s.Rows; at += b.n {
			n := min(b.n, s.Rows-at)
			batch := &joincore.Batch{Rows: n, Columns: []joincore.Vector{{Values: make([]byte, 8*n), Validity: bytes.Repeat([]byte{0xff}, (n+7)/8)}}}
			count := st.Gather(st.Scan(b.in, segment, at, n), 0, []joincore.ColumnRef{{Input: 1}}, batch, 0, []int{0})
			if got, err := count.Wait(b.Context()); got != int64(n) || err != nil {
				b.Fatalf("%d rows, %v", got, err)
			}
			for i := range n {
				if v := valueAt(batch, i); v != want[0] {
					b.Fatalf("row %d of segment %d is %#x, want %#x", at+i, segment, v, want[0])
				}
				want = want[1:]
			}
		}
	}
	if len(want) > 0 {
		b.Fatalf("%d rows are missing", len(want))
	}
}
