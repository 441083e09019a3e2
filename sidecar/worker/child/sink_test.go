package child

import (
	"context"
	"errors"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/worker/control"
)

// TestShapes: devices that wait for batches of different shapes each get their own, in
// whatever order they are granted, and none is kept while another shape is waited for.
func TestShapes(t *testing.T) {
	var sent control.FromWorker
	s := newSink(1, func(add func(*control.FromWorker)) { add(&sent) })
	e := &extent{data: make([]byte, 4<<20)}
	wait := func(heap float64) <-chan uint64 {
		got := make(chan uint64, 1)
		asked := len(requests(s, &sent))
		go func() {
			b, err := s.NewBatch(t.Context(), []float64{heap})
			if err != nil {
				t.Error(err)
			}
			got <- uint64(b.Handle.(granted))
		}()
		for len(requests(s, &sent)) == asked {
			time.Sleep(time.Millisecond)
		}
		return got
	}
	narrow, wide, other := wait(1), wait(1000), wait(1)
	list := requests(s, &sent)
	if len(list) != 3 || list[0].HeapMean[0] != 1 || list[1].HeapMean[0] != 1000 || list[2].HeapMean[0] != 1 {
		t.Fatalf("requests %v", list)
	}
	s.grant(list[2].GetBatch(), e, joincore.Segment{Rows: 10})
	s.grant(list[0].GetBatch(), e, joincore.Segment{Rows: 10})
	if a, b := <-narrow, <-other; a != list[2].GetBatch() && b != list[2].GetBatch() || a == list[1].GetBatch() || b == list[1].GetBatch() {
		t.Errorf("batches %d and %d", a, b)
	}
	// The shape that was used last is requested ahead, but what arrives while the other
	// one is waited for goes back.
	if err := s.Emit(t.Context(), &joincore.Batch{Handle: granted(list[0].GetBatch())}, 5, []int{0}); err != nil {
		t.Fatal(err)
	}
	before := len(requests(s, &sent))
	third := wait(1)
	if n := len(requests(s, &sent)); n != before+1 {
		t.Errorf("%d requests for one batch", n-before)
	}
	s.grant(list[1].GetBatch(), e, joincore.Segment{Rows: 10})
	if n := <-wide; n != list[1].GetBatch() {
		t.Errorf("batch %d for wide rows", n)
	}
	list = requests(s, &sent)
	s.grant(list[before].GetBatch(), e, joincore.Segment{Rows: 10})
	if n := <-third; n != list[before].GetBatch() || len(sent.Discarded) != 0 {
		t.Errorf("batch %d, %d discarded", n, len(sent.Discarded))
	}
}

// A batch that arrives when its waiter has given up goes to another one, or back if that
// wants another shape.
func TestBatchOfALostWaiter(t *testing.T) {
	var sent control.FromWorker
	s := newSink(1, func(add func(*control.FromWorker)) { add(&sent) })
	e := &extent{data: make([]byte, 4<<20)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.NewBatch(ctx, []float64{1}); err == nil {
		t.Fatal("a batch without a grant")
	}
	got := make(chan error, 1)
	go func() {
		_, err := s.NewBatch(t.Context(), []float64{2})
		got <- err
	}()
	for len(requests(s, &sent)) < 2 {
		time.Sleep(time.Millisecond)
	}
	for _, w := range requests(s, &sent) {
		s.grant(w.GetBatch(), e, joincore.Segment{Rows: 10})
	}
	if err := <-got; err != nil || len(sent.Discarded) != 1 || sent.Discarded[0] != 1 {
		t.Errorf("%v, discarded %v", err, sent.Discarded)
	}
}

// TestRefusal: a refused batch fails a run that waits for it, and no other; none is requested
// ahead afterwards.
func TestRefusal(t *testing.T) {
	var sent control.FromWorker
	s := newSink(1, func(add func(*control.FromWorker)) { add(&sent) })
	e := &extent{data: make([]byte, 4<<20)}
	take := func() error {
		got := make(chan error, 1)
		go func() {
			_, err := s.NewBatch(t.Context(), []float64{1})
			got <- err
		}()
		return <-got
	}
	answer := func(from int) {
		for len(requests(s, &sent)) <= from {
			time.Sleep(time.Millisecond)
		}
		s.grant(requests(s, &sent)[from].GetBatch(), e, joincore.Segment{Rows: 10})
	}
	go answer(0)
	if err := take(); err != nil {
		t.Fatal(err)
	}
	if err := s.Emit(t.Context(), &joincore.Batch{Handle: granted(1)}, 5, []int{0}); err != nil {
		t.Fatal(err)
	}
	go answer(1)
	if err := take(); err != nil { // and one more is requested ahead
		t.Fatal(err)
	}
	list := requests(s, &sent)
	for _, w := range list[2:] {
		if !s.refuse(w.GetBatch()) {
			t.Errorf("batch %d was not requested", w.GetBatch())
		}
	}
	if len(list) < 3 || s.refuse(list[2].GetBatch()) {
		t.Errorf("%d requests; one is refused twice", len(list))
	}
	if err := s.Emit(t.Context(), &joincore.Batch{Handle: granted(2)}, 5, []int{0}); err != nil {
		t.Error("a refusal of a batch without a waiter: ", err)
	}
	before := len(list)
	go func() {
		for len(requests(s, &sent)) == before {
			time.Sleep(time.Millisecond)
		}
		s.refuse(requests(s, &sent)[before].GetBatch())
	}()
	if err := take(); !errors.Is(err, control.ErrRefused) {
		t.Error(err)
	}
	if n := len(requests(s, &sent)); n != before+1 {
		t.Errorf("%d requests after a refusal", n-before)
	}
}

// requests returns what a sink has asked for.
func requests(s *sink, sent *control.FromWorker) []*control.Want {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sent.Wanted
}
