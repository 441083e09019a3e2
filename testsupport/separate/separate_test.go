package separate_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/separate"
)

type heap struct{}

func (heap) Alloc(n int64) ([]byte, error) { return make([]byte, n), nil }
func (heap) Free([]byte)                   {}

var columns = []joincore.ColumnRef{{Input: 0, Column: 0}}

// open returns a device with one input of three rows, and a stream.
func open(t *testing.T) (device.Chunked, device.Space, device.ChunkStream) {
	t.Helper()
	return openAt(t, 0)
}

func openAt(t *testing.T, at int) (device.Chunked, device.Space, device.ChunkStream) {
	t.Helper()
	opened, err := separate.New(cpu.New(), at+1)[at].Open(heap{}, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(device.Chunked)
	values := binary.LittleEndian.AppendUint64(nil, 1)
	values = binary.LittleEndian.AppendUint64(values, 2)
	values = binary.LittleEndian.AppendUint64(values, 3)
	s, err := d.Import(0, &joincore.Relation{
		Columns:  []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}},
		Segments: []joincore.Segment{{Rows: 3, Columns: []joincore.Vector{{Values: values}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	clear(values) // must not matter: the device has its own copy
	st, err := d.NewChunkStream()
	if err != nil {
		t.Fatal(err)
	}
	return d, s, st
}

func panics(t *testing.T, with string, f func()) {
	t.Helper()
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, with) {
			t.Errorf("panic %q, want %q", p, with)
		}
	}()
	f()
}

func TestResultsAppearOnlyWhenTheyAreAwaited(t *testing.T) {
	d, s, st := open(t)
	defer d.Close()
	defer st.Close()
	b := &joincore.Batch{Rows: 3, Columns: []joincore.Vector{{Values: make([]byte, 24), Validity: []byte{7}}}}
	count := st.Gather(st.Scan(s, 0, 0, 3), 0, columns, b, 0, []int{0})
	if err := st.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.Columns[0].Values[0] != 0 {
		t.Error("the batch was written before its count was awaited")
	}
	if n, err := count.Wait(t.Context()); n != 3 || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	for i := range 3 {
		if x := b.Columns[0].Values[8*i]; x != byte(i+1) {
			t.Errorf("row %d: %d", i, x)
		}
	}
}

func TestStaleHandlesAreFound(t *testing.T) {
	d, s, st := open(t)
	defer d.Close()
	defer st.Close()
	first := st.Scan(s, 0, 0, 1)
	st.Scan(s, 0, 1, 1)
	panics(t, "producer went on", func() { _ = st.Append(first, nil) })
	tuples, err := d.NewTuples([]int{0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tuples.Release()
	panics(t, "after its release", func() { tuples.Segments() })
	panics(t, "not a handle", func() { st.Scan(nil, 0, 0, 1) })
}

func TestErrorsReachWhoWaits(t *testing.T) {
	d, s, st := open(t)
	defer d.Close()
	defer st.Close()
	st.Scan(s, 0, 0, 1)
	_, count := st.Marked(s, 5, 0, 1, true) // the segment does not exist
	_ = count
	r := st.Scan(s, 9, 0, 1)
	if _, err := st.Gather(r, 0, columns, &joincore.Batch{Rows: 1, Columns: []joincore.Vector{{Values: make([]byte, 8), Validity: []byte{1}}}}, 0, []int{0}).Wait(t.Context()); err == nil {
		t.Error("rows of a segment that is not there")
	}
	if err := st.Sync(t.Context()); err == nil {
		t.Error("the stream forgot its error")
	}
}

func TestDeviceOutlivesItsStreams(t *testing.T) {
	d, _, st := open(t)
	panics(t, "before 1 streams", d.Close)
	st.Close()
	d.Close()
}

var key = &device.Key{Exact: true, Parts: []device.KeyPart{{Column: columns[0], Class: joincore.KeyInt, Bits: 64}}}

func TestHandlesAreOfOneDevice(t *testing.T) {
	here, in, st := openAt(t, 0)
	there, far, other := openAt(t, 1)
	defer here.Close()
	defer there.Close()
	defer st.Close()
	defer other.Close()
	if here.At() != 0 || there.At() != 1 || other.At() != 1 || far.Segments()[0].At != 1 {
		t.Errorf("devices %d and %d, stream of %d, segment at %d", here.At(), there.At(), other.At(), far.Segments()[0].At)
	}
	panics(t, "a space of device 1 is used by device 0", func() { st.Scan(far, 0, 0, 1) })
	panics(t, "a space of device 0 is used by device 1", func() { _, _ = there.Sort(t.Context(), in, device.TransformSpec{Key: key}) })
	table, err := here.Build(t.Context(), in, &device.Match{Build: key, Probe: key, Emit: device.Semi})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	panics(t, "a table of device 0 is used by device 1", func() {
		_ = other.NewProber(&device.Match{Build: key, Probe: key, Emit: device.Semi}).Start(t.Context(), other.Scan(far, 0, 0, 1), table)
	})
}

// TestStepsAreFutures: a step runs asynchronously, is freed after its readers,
// and returns its error to callers that wait.
func TestStepsAreFutures(t *testing.T) {
	d, s, st := open(t)
	defer d.Close()
	defer st.Close()
	tuples, err := d.NewTuples([]int{0}, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Append(st.Scan(s, 0, 0, 3), tuples); err != nil {
		t.Fatal(err)
	}
	if err := st.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := d.Partition(t.Context(), tuples, device.TransformSpec{Key: key, Bits: 2, RowIDs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	tuples.Release() // deferred until the step that reads it is done
	again, err := d.Sort(t.Context(), p, device.TransformSpec{Key: key, RowIDs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	if n, err := again.Keyed().Wait(t.Context()); n != 3 || err != nil || again.Keyed().At() != d.At() {
		t.Errorf("%d rows, %v", n, err)
	}
	again.Release()

	stopped, cause := context.WithCancelCause(t.Context())
	failed := errors.New("stopped")
	cause(failed)
	p, err = d.Partition(stopped, s, device.TransformSpec{Key: key, Bits: 2})
	if err != nil {
		t.Fatal(err)
	}
	bounds := p.Bounds()
	for range 2 {
		if _, err := bounds.Wait(t.Context()); !errors.Is(err, failed) {
			t.Errorf("bounds: %v", err)
		}
	}
	if _, err := st.Gather(st.Scan(p, 0, 0, 1), 0, columns, &joincore.Batch{}, 0, nil).Wait(t.Context()); !errors.Is(err, failed) {
		t.Errorf("rows of what has failed: %v", err)
	}
	p.Release()
}

func TestSegmentsAreAwaited(t *testing.T) {
	hold := &holding{passage: make(chan struct{})}
	close(hold.passage)
	opened, err := (&separate.Provider{Inner: cpu.New()}).Open(hold, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(device.Chunked)
	defer d.Close()
	s, err := d.Import(0, &joincore.Relation{
		Columns:  []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}},
		Segments: []joincore.Segment{{Rows: 1, Columns: []joincore.Vector{{Values: make([]byte, 8)}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	hold.passage = make(chan struct{})
	p, err := d.Partition(t.Context(), s, device.TransformSpec{Key: key, Bits: 1})
	if err != nil {
		t.Fatal(err)
	}
	panics(t, "was not awaited", func() { p.Segments() })
	close(hold.passage)
	if bounds, err := p.Bounds().Wait(t.Context()); err != nil || len(bounds) != 4 {
		t.Errorf("bounds %v, %v", bounds, err)
	}
	if s := p.Segments(); len(s) != 1 || s[0].Rows != 1 {
		t.Errorf("segments %v", s)
	}
	p.Release()
}

// holding is memory that allocates only after passage is closed.
type holding struct {
	heap
	passage chan struct{}
}

func (h *holding) Alloc(n int64) ([]byte, error) {
	<-h.passage
	return h.heap.Alloc(n)
}
