package child

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/shm"
	"gpujoin/sidecar/worker/control"

	"golang.org/x/sys/unix"
)

// TestOrders: what a daemon may say that no correct one does ends the run, and
// nothing else.
func TestOrders(t *testing.T) {
	batch := func(number, extent uint64, spans ...uint64) *control.ToWorker {
		return &control.ToWorker{Granted: []*control.Batch{{Batch: number, Segment: &control.Segment{Extent: extent, Rows: 100, Spans: spans}}}}
	}
	for name, c := range map[string]struct {
		change func(*control.Start)
		then   *control.ToWorker
		want   string
	}{
		"no plan":            {change: func(s *control.Start) { s.Job = nil }, want: "malformed job"},
		"one input":          {change: func(s *control.Start) { s.Inputs = s.Inputs[1:] }, want: "1 relations for 2 inputs"},
		"rows beyond":        {change: func(s *control.Start) { s.Inputs[0] = eightRows(1, 1<<20, 64) }, want: "1048576 behind 0 of"},
		"rows without bytes": {change: func(s *control.Start) { s.Inputs[0] = eightRows(1, 0, 56) }, want: "invalid input data"},
		"rows nowhere":       {change: func(s *control.Start) { s.Inputs[0] = eightRows(0, 0, 64) }, want: "a segment of 8 rows"},
		"not asked for":      {then: batch(9, 1, 0, 8, 0, 0, 0, 0), want: "batch 9 was not requested"},
		"batch beyond":       {then: batch(1, 1, 0, 1<<21, 0, 0, 0, 0), want: "of an extent of"},
		"batch of a column":  {then: batch(1, 1), want: "1 columns"},
		"booked for nothing": {then: &control.ToWorker{Booked: []*control.Booking{{Bytes: 1}, {Bytes: 1}}}, want: "an answer without a request for memory"},
		"refused":            {then: &control.ToWorker{Refused: []*control.Refusal{{Batch: 1}}}, want: "no batch was granted"},
		"cancelled":          {then: &control.ToWorker{Cancel: true}, want: "context canceled"},
	} {
		d := startDaemon(t, cpu.New(), slog.New(slog.DiscardHandler))
		d.give(1)
		s := newStream(t)
		order := startMessage(t)
		if c.change != nil {
			c.change(order)
		}
		s.in <- &control.ToWorker{Start: order}
		ended := make(chan error, 1)
		go func() { ended <- d.srv.Run(s) }()
		var done *control.Done
		for done == nil {
			m := <-s.out
			if done = m.GetDone(); done != nil {
				break
			}
			if m.GetBook() != nil {
				s.in <- &control.ToWorker{Booked: []*control.Booking{{Bytes: m.GetBook().GetBytes()}}}
			}
			if len(m.GetWanted()) > 0 && c.then != nil {
				s.in <- c.then
			}
		}
		if done.GetFailure() == control.Failure_FAILURE_NONE || !strings.Contains(done.GetText(), c.want) {
			t.Errorf("%s: %v", name, done)
		}
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoStart: a run begins with its plan.
func TestNoStart(t *testing.T) {
	d := startDaemon(t, cpu.New(), slog.New(slog.DiscardHandler))
	s := newStream(t)
	s.in <- &control.ToWorker{Cancel: true}
	if err := d.srv.Run(s); err == nil {
		t.Error("it ran")
	}
	close(s.in)
	if err := d.srv.Run(s); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestHangUp: a daemon that hangs up has no use for the rest.
func TestHangUp(t *testing.T) {
	d := startDaemon(t, cpu.New(), slog.New(slog.DiscardHandler))
	s := newStream(t)
	ctx, cancel := context.WithCancel(s.ctx)
	s.ctx = ctx
	s.in <- &control.ToWorker{Start: startMessage(t)} // its extent never comes
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := d.srv.Run(s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestCancelBeforeExtents: a run that waits for an extent, of its inputs or of a batch, ends
// when the daemon cancels it. The daemon kills a worker that does not.
func TestCancelBeforeExtents(t *testing.T) {
	for _, c := range []struct {
		name  string
		given []uint64
	}{{"of its inputs", nil}, {"of a batch", []uint64{1}}} {
		d := startDaemon(t, cpu.New(), slog.New(slog.DiscardHandler))
		for _, id := range c.given {
			d.give(id)
		}
		s := newStream(t)
		s.in <- &control.ToWorker{Start: startMessage(t)}
		ended := make(chan error, 1)
		go func() { ended <- d.srv.Run(s) }()
		if c.given == nil {
			s.in <- &control.ToWorker{Cancel: true}
		}
		var done *control.Done
		for late := time.After(30 * time.Second); done == nil; {
			select {
			case m := <-s.out:
				done = m.GetDone()
				if m.GetBook() != nil {
					s.in <- &control.ToWorker{Booked: []*control.Booking{{Bytes: m.GetBook().GetBytes()}}}
				}
				for _, w := range m.GetWanted() {
					segment := &control.Segment{Extent: 2, Rows: 8, Spans: []uint64{0, 64, 0, 0, 0, 0}} // never comes
					s.in <- &control.ToWorker{Granted: []*control.Batch{{Batch: w.GetBatch(), Segment: segment}}}
					s.in <- &control.ToWorker{Cancel: true}
				}
			case <-late:
				t.Fatal("a cancel is not read while the run waits for an extent ", c.name)
			}
		}
		if done.GetFailure() != control.Failure_FAILURE_CANCELLED {
			t.Errorf("%s: %v", c.name, done)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestRegistration: every extent is registered once, and no longer than it is
// mapped; in use it stays.
func TestRegistration(t *testing.T) {
	p := &registry{Provider: cpu.New()}
	d := startDaemon(t, p, slog.New(slog.DiscardHandler))
	for id := range uint64(5) {
		d.give(id + 1)
	}
	eventually(t, "5 are registered", func() bool { return p.count() == 5 })
	e, err := d.srv.pool.use(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	d.extents[3][7] = 42
	if err := d.sender.Send(&control.Message{Kind: control.Drop, Extents: []uint64{1, 2, 3, 77}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "3 are registered", func() bool { return p.count() == 3 })
	if e.data[7] != 42 {
		t.Error("another memory")
	}
	d.srv.pool.done(e)
	if n := p.count(); n != 2 {
		t.Errorf("%d are registered", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := d.srv.pool.use(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestSlowUnregistration: while a driver unregisters an extent, the worker reports its status
// and finds other extents.
func TestSlowUnregistration(t *testing.T) {
	p := &slow{cpu.New(), make(chan struct{}), make(chan struct{})}
	d := startDaemon(t, p, slog.New(slog.DiscardHandler))
	d.give(1)
	d.give(2)
	e, err := d.srv.pool.use(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	d.srv.pool.done(e)
	registered := func() bool {
		d.srv.pool.mu.Lock()
		defer d.srv.pool.mu.Unlock()
		return !d.srv.pool.registry && len(d.srv.pool.backlog) == 0
	}
	eventually(t, "all is registered", registered)
	if err := d.sender.Send(&control.Message{Kind: control.Drop, Extents: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	<-p.begun
	answered := make(chan error, 1)
	go func() {
		_, err := d.srv.Status(t.Context(), nil)
		e, failed := d.srv.pool.use(t.Context(), 2)
		d.srv.pool.done(e)
		answered <- errors.Join(err, failed)
	}()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
		close(p.end)
	case <-time.After(10 * time.Second):
		close(p.end)
		<-answered
		t.Error("the worker waits for the driver")
	}
}

// TestRefusedRegistration: without it everything works; it is not tried again,
// and said once in the log and always in the device's status.
func TestRefusedRegistration(t *testing.T) {
	var text strings.Builder
	p := &registry{Provider: cpu.New()}
	d := startDaemon(t, p, slog.New(slog.NewTextHandler(&text, nil)))
	status := func() *control.Device {
		reply, err := d.srv.Status(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return reply.GetDevices()[0]
	}
	d.give(1)
	eventually(t, "one is registered", func() bool { return p.count() == 1 })
	if note := status().GetNote(); note != "" {
		t.Errorf("note %q", note)
	}
	p.refuse(errors.New("too much is locked"))
	d.give(2)
	eventually(t, "it was refused", func() bool { return strings.HasSuffix(status().GetNote(), "staged: too much is locked") })
	p.refuse(nil)
	for id := range uint64(5) {
		d.give(id + 3)
	}
	eventually(t, "all have come", func() bool {
		d.srv.pool.mu.Lock()
		defer d.srv.pool.mu.Unlock()
		return len(d.srv.pool.extents) == 7 && !d.srv.pool.registry
	})
	if n := p.count(); n != 1 || status().GetNote() == "" {
		t.Errorf("%d are registered after one was refused; note %q", n, status().GetNote())
	}
	if n := strings.Count(text.String(), "too much is locked"); n != 1 {
		t.Errorf("said %d times", n)
	}
	if err := d.sender.Send(&control.Message{Kind: control.Drop, Extents: []uint64{1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "none is registered", func() bool { return p.count() == 0 })
}

// TestBadExtents: an extent that is none, or given twice, ends the worker.
func TestBadExtents(t *testing.T) {
	d := startDaemon(t, cpu.New(), slog.New(slog.DiscardHandler))
	d.give(1)
	d.give(1)
	if err := <-d.ended; !errors.Is(err, control.ErrMessage) {
		t.Error(err)
	}
	d = startDaemon(t, cpu.New(), slog.New(slog.DiscardHandler))
	fd, err := unix.MemfdCreate("unsealed", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	m := &control.Message{Kind: control.Give, Size: shm.ExtentMinSize, Extents: []uint64{1}, FDs: []int{fd}}
	if err := d.sender.Send(m); err != nil {
		t.Fatal(err)
	}
	if err := <-d.ended; !errors.Is(err, shm.ErrUnsealed) && !errors.Is(err, shm.ErrNotMemfd) {
		t.Error(err)
	}
	d = startDaemon(t, cpu.New(), slog.New(slog.DiscardHandler))
	d.sender.Close()
	if err := <-d.ended; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestAhead: the more is emitted, the more is asked for ahead; rows of another
// shape need other batches.
func TestAhead(t *testing.T) {
	var sent control.FromWorker
	var mu sync.Mutex
	s := newSink(1, func(add func(*control.FromWorker)) {
		mu.Lock()
		defer mu.Unlock()
		add(&sent)
	})
	e := &extent{data: make([]byte, 4<<20)}
	answered := 0
	answer := func() {
		mu.Lock()
		list := sent.Wanted[answered:]
		answered = len(sent.Wanted)
		mu.Unlock()
		for _, w := range list {
			s.grant(w.GetBatch(), e, joincore.Segment{Rows: 10})
		}
	}
	take := func(heap float64) *joincore.Batch {
		t.Helper()
		got := make(chan *joincore.Batch)
		go func() {
			b, err := s.NewBatch(t.Context(), []float64{heap})
			if err != nil {
				t.Error(err)
			}
			got <- b
		}()
		for {
			answer()
			select {
			case b := <-got:
				return b
			case <-time.After(time.Millisecond):
			}
		}
	}
	for range 6 {
		if err := s.Emit(t.Context(), take(1), 5, []int{0}); err != nil {
			t.Fatal(err)
		}
	}
	take(1)
	answer()
	if n := len(s.ready); n != aheadBytes/(4<<20) {
		t.Errorf("%d batches are ready", n)
	}
	s.Discard(take(2))
	answer()
	if len(sent.Emitted) != 6 || len(sent.Discarded) != 9 {
		t.Errorf("%d emitted, %d discarded", len(sent.Emitted), len(sent.Discarded))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if _, err := s.NewBatch(ctx, []float64{3}); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	s.fail(io.ErrNoProgress)
	if _, err := s.NewBatch(t.Context(), []float64{3}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}
