package separate_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/device/separate"
)

type heap struct{}

func (heap) Alloc(n int64) ([]byte, error) { return make([]byte, n), nil }
func (heap) Free([]byte)                   {}

var columns = []joincore.ColumnRef{{Input: 0, Column: 0}}

// open returns a device with one input of three rows, and a stream.
func open(t *testing.T) (device.Chunked, device.Space, device.ChunkStream) {
	t.Helper()
	opened, err := (&separate.Provider{Inner: cpu.New()}).Open(heap{}, device.Options{})
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
	clear(values) // the device has its own copy
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
	_, count := st.Marked(s, 5, 0, 1, true) // no such segment
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
