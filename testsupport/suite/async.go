package suite

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// Async tests asynchronous work on several streams and devices: futures are
// awaited in any order or abandoned, and return errors.
func Async(t *testing.T, s Subject) {
	if _, ok := s.Provider.(exec.Executor); ok {
		t.Skip("the provider executes whole plans: it has no steps of its own")
	}
	t.Run("AnyOrder", func(t *testing.T) { anyOrder(t, s) })
	t.Run("OtherDevices", func(t *testing.T) { otherDevices(t, s) })
	t.Run("GivenUp", func(t *testing.T) { givenUp(t, s) })
	t.Run("Errors", func(t *testing.T) { asyncErrors(t, s) })
}

// anyOrder awaits futures of several streams and steps in reverse and in random order.
func anyOrder(t *testing.T, s Subject) {
	b := newAsyncBed(t, s.Provider, 1000)
	defer b.close()
	var streams []device.Stream
	for range 3 {
		st := b.stream()
		defer st.Close()
		streams = append(streams, st)
	}
	b.segments(b.in, b.rows)
	for range 20 {
		var readings []*reading
		for _, st := range streams {
			readings = append(readings, b.read(st, b.in, rand.IntN(b.rows-b.n)))
		}
		for _, i := range rand.Perm(len(readings)) {
			readings[i].check()
		}
	}
	switch d := b.Device.(type) {
	case device.Bulk:
		filtersInAnyOrder(b, d, streams[0])
	case device.Chunked:
		partitionsInAnyOrder(b, d)
	}
}

func filtersInAnyOrder(b *asyncBed, d device.Bulk, st device.Stream) {
	keep := device.Keep{Columns: numberColumn}
	var spaces []device.Space
	var counts []device.Count
	for i := range 4 {
		s, err := d.Filter(b.Context(), b.in, b.below(100*(i+1)), nil, keep)
		b.must(err)
		spaces, counts = append(spaces, s), append(counts, d.Rows(s))
		b.local(counts[i].At())
	}
	for _, i := range []int{3, 1, 0, 2, 1} {
		if n, err := counts[i].Wait(b.Context()); n != int64(100*(i+1)) || err != nil {
			b.Errorf("filter %d: %d rows, %v", i, n, err)
		}
	}
	for i := len(spaces) - 1; i >= 0; i-- {
		b.segments(spaces[i], 100*(i+1))
		if rows := spaces[i].Segments()[0].Rows; rows >= b.n { // the device chooses the order of rows
			b.read(st, spaces[i], 0).values()
		}
		spaces[i].Release()
	}
}

func partitionsInAnyOrder(b *asyncBed, d device.Chunked) {
	var spaces []device.Partitions
	var histograms []device.Future[[]int64]
	for bits := 1; bits <= 4; bits++ {
		p, err := d.Partition(b.Context(), b.in, device.TransformSpec{Key: b.key(), Bits: bits, RowIDs: []int{0}})
		b.must(err)
		spaces, histograms = append(spaces, p), append(histograms, p.Bounds())
		b.local(histograms[bits-1].At())
	}
	for _, i := range []int{2, 0, 3, 1, 3} {
		bounds, err := histograms[i].Wait(b.Context())
		b.must(err)
		if len(bounds) != 2<<i+2 || bounds[0] != 0 || bounds[len(bounds)-1] != int64(b.rows) {
			b.Errorf("%d bits: %d bounds, from %d to %d", i+1, len(bounds), bounds[0], bounds[len(bounds)-1])
		}
		b.segments(spaces[i], b.rows)
	}
	for _, p := range spaces {
		p.Release()
	}
}

// otherDevices uses several devices at the same time. The results of one determine the
// requests to another.
func otherDevices(t *testing.T, s Subject) {
	if len(s.Peers) == 0 {
		t.Skip("there is one device: nothing of another one can be awaited")
	}
	var beds []*asyncBed
	var streams []device.Stream
	seen := map[device.Location]bool{}
	for i, p := range append([]device.Provider{s.Provider}, s.Peers...) {
		b := newAsyncBed(t, p, uint64(i)<<32)
		defer b.close()
		st := b.stream()
		defer st.Close()
		if seen[b.At()] && b.At() != device.Host {
			t.Fatalf("two devices are at %d", b.At())
		}
		seen[b.At()] = true
		beds, streams = append(beds, b), append(streams, st)
	}
	// Each device gets requests for the rows that the previous one returned,
	// while all of them are busy.
	at, row := len(beds)-1, 7
	for range 10 {
		var readings []*reading
		for i, b := range beds {
			readings = append(readings, b.read(streams[i], b.in, rand.IntN(b.rows-b.n)))
		}
		for _, i := range rand.Perm(len(beds)) {
			readings[i].check()
		}
		b := beds[at]
		value := b.read(streams[at], b.in, row).values()[0]
		if value != uint64(at)<<32+uint64(row) {
			t.Fatalf("row %d of device %d is %#x", row, at, value)
		}
		at, row = (at+1)%len(beds), int((uint32(value)*31+11)%uint32(b.rows-b.n))
	}
	// A batch of every device becomes an input of the first one.
	exchanged := &joincore.Relation{Columns: Int64Columns(1)}
	var want []uint64
	for i, b := range beds {
		r := b.read(streams[i], b.in, 0)
		want = append(want, r.values()...)
		exchanged.Segments = append(exchanged.Segments, joincore.Segment{Rows: b.n, Columns: []joincore.Vector{{Values: r.batch.Columns[0].Values}}})
	}
	first := beds[0]
	in, err := first.Import(1, exchanged)
	first.must(err)
	first.segments(in, len(want))
	first.in = in
	checkExchanged(first, streams[0], want)
}

// givenUp waits with a context that ends early: from then on the device does
// not write to the batch, and it executes later requests.
func givenUp(t *testing.T, s Subject) {
	b := newAsyncBed(t, s.Provider, 0)
	defer b.close()
	st := b.stream()
	defer st.Close()
	cause := errors.New("given up")
	wait := func(count device.Count, want int) (done bool) {
		ctx, stop := context.WithTimeoutCause(b.Context(), 20*time.Millisecond, cause)
		defer stop()
		n, err := count.Wait(ctx)
		switch {
		case errors.Is(err, cause):
			return false
		case err != nil || n != int64(want):
			b.Fatalf("%d rows, %v", n, err)
		case s.Pends:
			b.Fatal("work was done without the memory that it takes")
		}
		return true
	}
	b.mem.shut()
	r := b.read(st, b.in, 100)
	done := wait(r.count, b.n)
	before := bytes.Clone(r.batch.Columns[0].Values)
	b.mem.open()
	b.must(st.Sync(b.Context()))
	if !bytes.Equal(before, r.batch.Columns[0].Values) {
		t.Error("the batch was written after its count was given up")
	}
	if _, err := r.count.Wait(b.Context()); done != (err == nil) {
		t.Errorf("a future that was given up has another outcome: %v", err)
	}
	b.read(st, b.in, 200).check()
	if d, ok := b.Device.(device.Bulk); ok {
		b.mem.shut()
		f, err := d.Filter(b.Context(), b.in, b.below(100), nil, device.Keep{Columns: numberColumn})
		b.must(err)
		wait(d.Rows(f), 100)
		b.mem.open()
		if n, err := d.Rows(f).Wait(b.Context()); n != 100 || err != nil {
			t.Errorf("asked for again: %d rows, %v", n, err)
		}
		f.Release()
	}
}

// asyncErrors makes work fail for lack of memory: the call or the future returns the
// error, the future repeatedly, and other work succeeds.
func asyncErrors(t *testing.T, s Subject) {
	if s.OwnMemory {
		t.Skip("the provider's memory is its own")
	}
	b := newAsyncBed(t, s.Provider, 0)
	defer b.close()
	failing, other := b.stream(), b.stream()
	defer failing.Close()
	defer other.Close()
	b.mem.fail(joincore.ErrBudget)
	r := b.read(failing, b.in, 0)
	_, err := r.count.Wait(b.Context())
	if s.Pends && !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("gathered without memory: %v", err)
	}
	if d, ok := b.Device.(device.Bulk); ok {
		f, err := d.Filter(b.Context(), b.in, b.below(100), nil, device.Keep{Columns: numberColumn})
		if err == nil {
			count := d.Rows(f)
			for range 2 {
				if _, err := count.Wait(b.Context()); !errors.Is(err, joincore.ErrBudget) {
					t.Errorf("filtered without memory: %v", err)
				}
			}
			f.Release()
		} else if !errors.Is(err, joincore.ErrBudget) {
			t.Errorf("filtered without memory: %v", err)
		}
	}
	b.mem.open()
	if _, again := r.count.Wait(b.Context()); !errors.Is(again, err) {
		t.Errorf("a future has two outcomes: %v, %v", err, again)
	}
	b.read(other, b.in, 100).check()
}
