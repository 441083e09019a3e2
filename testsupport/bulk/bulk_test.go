package bulk_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/separate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type heap struct{}

func (heap) Alloc(n int64) ([]byte, error) { return make([]byte, n), nil }
func (heap) Free([]byte)                   {}

// open returns a device with two inputs, each of rows 0, 1, 2, ... in two columns.
func open(t *testing.T, rows int, opt device.Options) (device.Bulk, [2]device.Space) {
	t.Helper()
	opened, err := (&bulk.Provider{Inner: &separate.Provider{Inner: cpu.New()}}).Open(heap{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(device.Bulk)
	t.Cleanup(d.Close)
	var values []byte
	for i := range rows {
		values = binary.LittleEndian.AppendUint64(values, uint64(i))
	}
	var spaces [2]device.Space
	for input := range spaces {
		spaces[input], err = d.Import(input, &joincore.Relation{
			Columns:  []joincore.Column{column, column},
			Segments: []joincore.Segment{{Rows: rows, Columns: []joincore.Vector{{Values: values}, {Values: values}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return d, spaces
}

var column = joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}

func ref(input, column int) joincore.ColumnRef {
	return joincore.ColumnRef{Input: input, Column: column}
}

// keep returns a Keep with the second column of an input.
func keep(input int) device.Keep {
	return device.Keep{Columns: []joincore.ColumnRef{ref(input, 1)}}
}

// pairs describes the join of input 0, the build side, with input 1.
func pairs() *device.JoinSpec {
	build, probe := device.Keys([]joincore.KeyPair{{Left: ref(0, 0), Right: ref(1, 0), Class: joincore.KeyInt}},
		func(joincore.ColumnRef) joincore.Column { return column })
	return &device.JoinSpec{
		Match:     device.Match{Build: build, Probe: probe, Emit: device.Pairs},
		KeepBuild: keep(0), KeepProbe: keep(1),
	}
}

func less(c joincore.ColumnRef, n int64) joincore.Expr {
	return &joincore.Compare{Op: joincore.Less, Left: c, Right: joincore.Int(n)}
}

func panics(t *testing.T, with string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p, _ := recover().(string); !strings.Contains(p, with) {
			t.Errorf("panic %q, want %q", p, with)
		}
	}()
	f()
}

func TestEmittedSpacesAreBoundedAndGoneAfterwards(t *testing.T) {
	d, in := open(t, 1000, device.Options{EmitRows: 64, Streams: 3})
	join, err := d.Prepare(t.Context(), pairs(), in[0])
	if err != nil {
		t.Fatal(err)
	}
	defer join.Release()
	var last device.Space
	total := int64(0)
	err = join.Probe(t.Context(), in[1], func(s device.Space) error {
		panics(t, "not awaited", func() { s.Segments() })
		n, err := d.Rows(s).Wait(t.Context())
		if n < 1 || n > 64 {
			t.Errorf("%d rows at once", n)
		}
		total, last = total+n, s
		return err
	})
	if err != nil || total != 1000 {
		t.Fatalf("%d rows, %v", total, err)
	}
	panics(t, "after its release", func() { d.Rows(last) })
	if r := join.Report(); r.BuildRows != 1000 || r.ProbeRows != 1000 || r.RowsOut != 1000 || r.Algorithm != "npj" {
		t.Errorf("report: %+v", r)
	}
	panics(t, "does not return", func() { _ = join.Leftover(t.Context(), nil) })
}

func TestOnlyWhatWasKeptCanBeRead(t *testing.T) {
	d, in := open(t, 10, device.Options{})
	s, err := d.Filter(t.Context(), in[0], less(ref(0, 0), 4), nil, keep(0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if n, err := d.Rows(s).Wait(t.Context()); n != 4 || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	panics(t, "was not kept", func() { _, _ = d.Filter(t.Context(), s, less(ref(0, 0), 2), nil, keep(0)) })
	panics(t, "was not kept", func() { _, _ = d.Prepare(t.Context(), pairs(), s) })
	panics(t, "row numbers", func() {
		_, _ = d.Filter(t.Context(), s, less(ref(0, 1), 2), nil, device.Keep{Inputs: []int{0}})
	})
	panics(t, "without row numbers", func() {
		_, _ = d.Filter(t.Context(), in[0], less(ref(0, 1), 2), nil, device.Keep{Late: []joincore.ColumnRef{ref(0, 1)}})
	})
	st, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := st.Scan(s, 0, 0, 4)
	panics(t, "was not kept", func() { st.Gather(r, 0, []joincore.ColumnRef{ref(0, 0)}, &joincore.Batch{}, 0, nil) })
}

func TestSpacesOutliveWhatIsMadeOfThem(t *testing.T) {
	d, in := open(t, 10, device.Options{})
	s, err := d.Filter(t.Context(), in[0], less(ref(0, 0), 4), nil, device.Keep{Columns: []joincore.ColumnRef{ref(0, 0), ref(0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	join, err := d.Prepare(t.Context(), pairs(), s)
	if err != nil {
		t.Fatal(err)
	}
	panics(t, "before what was made of it", s.Release)
	panics(t, "before what was made of it", in[0].Release)
	join.Release()
	s.Release()
	panics(t, "after its release", s.Release)
}

// TestErrorsComeFromWhoNeedsTheWork: the error of a failed asynchronous step is
// returned by every call that waits for it, and its result can be released.
func TestErrorsComeFromWhoNeedsTheWork(t *testing.T) {
	d, in := open(t, 10, device.Options{})
	cause := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	both := device.Keep{Columns: []joincore.ColumnRef{ref(0, 0), ref(0, 1)}}
	s, err := d.Filter(ctx, in[0], less(ref(0, 0), 4), nil, both)
	if err != nil {
		t.Fatal(err)
	}
	join, err := d.Prepare(t.Context(), pairs(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Rows(s).Wait(t.Context()); !errors.Is(err, cause) {
		t.Errorf("rows: %v", err)
	}
	if err := join.Probe(t.Context(), in[1], nil); !errors.Is(err, cause) {
		t.Errorf("probe: %v", err)
	}
	join.Release()
	s.Release()
}
