package exec

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// fakeRows are rows, each with this number of heap bytes.
type fakeRows []int

// fakeStream gathers rows with one column of variable length, whose heap has
// heapOf bytes of a batch that is not divided for a wide row.
type fakeStream struct{ device.ChunkStream }

func (fakeStream) Gather(r device.Rows, from int, _ []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) device.Count {
	n := 0
	for _, bytes := range r.(fakeRows)[from:] {
		if at+n == dst.Rows || bytes > len(dst.Columns[0].Heap)-heap[0] {
			break
		}
		heap[0] += bytes
		n++
	}
	return device.Known(int64(n))
}

func (fakeStream) Measure(r device.Rows, row int, _ []joincore.ColumnRef, heap []int) device.Count {
	heap[0] = r.(fakeRows)[row]
	return device.Known(int64(1))
}

// fakeSink has few batches, which come back when they are emitted if read says
// so, and stay out else.
type fakeSink struct {
	free chan struct{}
	rows int // of a batch
	read bool

	mu      sync.Mutex
	got     int // rows
	batches int // emitted
}

func newFakeSink(window, rows int, read bool) *fakeSink {
	s := &fakeSink{free: make(chan struct{}, window), rows: rows, read: read}
	for range window {
		s.free <- struct{}{}
	}
	return s
}

const fakeHeap = 100

func (s *fakeSink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	select {
	case <-s.free:
		b := &joincore.Batch{Rows: s.rows, Columns: []joincore.Vector{{Heap: make([]byte, fakeHeap)}}}
		if heap[0] > fakeHeap { // divided for a wide row
			b.Columns[0].Heap = make([]byte, int(heap[0]))
		}
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *fakeSink) Emit(_ context.Context, b *joincore.Batch, rows int, heap []int) error {
	s.mu.Lock()
	s.got += rows
	s.batches++
	s.mu.Unlock()
	if s.read {
		s.free <- struct{}{}
	}
	return nil
}

func (s *fakeSink) Discard(*joincore.Batch) { s.free <- struct{}{} }

func fakeOutput(s *fakeSink) *Output {
	return &Output{Sink: s, Columns: []joincore.ColumnRef{{}}, Heap: []float64{1}, Widths: []int{0}}
}

// bounded is far more than any of these tests takes.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestManyWorkersFewBatches: each of many workers has a row, and the sink has
// a few batches that are not read.
func TestManyWorkersFewBatches(t *testing.T) {
	for _, workers := range []int{1, 2, 16, 64} {
		for _, window := range []int{1, 2, 4} {
			ctx, sink := bounded(t), newFakeSink(window, 1000, false)
			out := fakeOutput(sink)
			for worker := range workers {
				if err := out.NewEmitter(ctx, fakeStream{}).Push(fakeRows{1}, 1); err != nil {
					t.Fatalf("worker %d of %d with a window of %d: %v", worker, workers, window, err)
				}
			}
			if err := out.Finish(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if sink.got != workers || sink.batches != 1 {
				t.Errorf("%d workers: %d rows in %d batches", workers, sink.got, sink.batches)
			}
		}
	}
}

// TestWorkersAtOnce: workers with chunks of all sizes, now and then a row that
// needs most of a batch or one of its own, share a window. A worker that is
// done takes no part any more, whatever it has left open.
func TestWorkersAtOnce(t *testing.T) {
	for _, workers := range []int{2, 5, 16, 64} {
		for _, window := range []int{1, 2, 4, 16} {
			ctx, sink := bounded(t), newFakeSink(window, 50, true)
			out := fakeOutput(sink)
			var wait sync.WaitGroup
			want := make([]int, workers)
			for worker := range workers {
				wait.Go(func() {
					random := rand.New(rand.NewPCG(uint64(worker), uint64(window)))
					e := out.NewEmitter(ctx, fakeStream{})
					for range random.IntN(300) {
						chunk := make(fakeRows, 1+random.IntN(80))
						for i := range chunk {
							chunk[i] = random.IntN(3)
						}
						switch random.IntN(10) {
						case 0:
							chunk[random.IntN(len(chunk))] = fakeHeap
						case 1:
							chunk[random.IntN(len(chunk))] = 5 * fakeHeap
						}
						if err := e.Push(chunk, len(chunk)); err != nil {
							t.Errorf("worker %d of %d with a window of %d: %v", worker, workers, window, err)
							return
						}
						want[worker] += len(chunk)
					}
				})
			}
			wait.Wait()
			if err := out.Finish(ctx, nil); err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, n := range want {
				total += n
			}
			if sink.got != total || out.Rows.Load() != int64(total) {
				t.Errorf("%d rows of %d, %d by the output's account", sink.got, total, out.Rows.Load())
			}
			if len(sink.free) != window {
				t.Errorf("%d of %d batches came back", len(sink.free), window)
			}
		}
	}
}

// TestWideRowAmongOpenBatches: a row that needs a batch of its own gets one
// although all others are open and their workers are done.
func TestWideRowAmongOpenBatches(t *testing.T) {
	ctx, sink := bounded(t), newFakeSink(1, 1000, true)
	out := fakeOutput(sink)
	if err := out.NewEmitter(ctx, fakeStream{}).Push(fakeRows{1}, 1); err != nil {
		t.Fatal(err)
	}
	if err := out.NewEmitter(ctx, fakeStream{}).Push(fakeRows{5 * fakeHeap, 1}, 2); err != nil {
		t.Fatal(err)
	}
	if err := out.Finish(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if sink.got != 3 {
		t.Errorf("%d rows", sink.got)
	}
}

// TestFinishAfterAnError gives back what is open, and returns the error.
func TestFinishAfterAnError(t *testing.T) {
	ctx, sink := bounded(t), newFakeSink(4, 1000, true)
	out := fakeOutput(sink)
	if err := out.NewEmitter(ctx, fakeStream{}).Push(fakeRows{1, 2, 3}, 3); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := out.Finish(ctx, failed); !errors.Is(err, failed) {
		t.Error(err)
	}
	if sink.got != 0 || len(sink.free) != 4 {
		t.Errorf("%d rows, %d batches free", sink.got, len(sink.free))
	}
}

// countedTurns counts the turns that are had, and those that were asked for
// with a context that is done, which a worker gets at once.
type countedTurns struct {
	mu          sync.Mutex
	had, atOnce int
}

func (c *countedTurns) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.had += n
}

func (c *countedTurns) Enter(ctx context.Context) {
	c.add(+1)
	if ctx.Err() != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.atOnce++
	}
}

func (c *countedTurns) Yield(context.Context) {}
func (c *countedTurns) Leave()                { c.add(-1) }

// TestWokenWorkersWaitForTheirTurn: a worker has no turn while it waits for the
// sink. One that is woken for a batch of another worker has work to do, so it
// asks for a turn as everybody does.
func TestWokenWorkersWaitForTheirTurn(t *testing.T) {
	ctx := bounded(t)
	sink, turns := newFakeSink(1, 1000, false), &countedTurns{}
	out := fakeOutput(sink)
	out.Turns = turns
	turns.Enter(ctx)
	b, err := out.take(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	pushed := make(chan error)
	go func() {
		turns.Enter(ctx)
		defer turns.Leave()
		pushed <- out.NewEmitter(ctx, fakeStream{}).Push(fakeRows{1}, 1)
	}()
	for { // until the other worker waits for the sink, and has no turn
		turns.mu.Lock()
		had := turns.had
		turns.mu.Unlock()
		if had == 1 && out.open.waiters.Load() == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := out.put(ctx, b); err != nil {
		t.Fatal(err)
	}
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
	if turns.atOnce != 0 {
		t.Errorf("%d turns were taken at once by workers that go on", turns.atOnce)
	}
	if err := out.Finish(ctx, nil); err != nil {
		t.Fatal(err)
	}
}

// failingSink fails for whoever waits for a batch, once it is woken.
type failingSink struct {
	*fakeSink
	err error
}

func (s *failingSink) NewBatch(ctx context.Context, _ []float64) (*joincore.Batch, error) {
	<-ctx.Done()
	return nil, s.err
}

// TestSinkFailsAsAWorkerIsWoken: the error of a sink counts, although the
// worker that meets it has found another batch by then.
func TestSinkFailsAsAWorkerIsWoken(t *testing.T) {
	ctx := bounded(t)
	sink := newFakeSink(1, 1000, false)
	out := fakeOutput(sink)
	b, err := out.take(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	out.Sink = &failingSink{sink, failed}
	pushed := make(chan error)
	go func() { pushed <- out.NewEmitter(ctx, fakeStream{}).Push(fakeRows{1}, 1) }()
	for out.open.waiters.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := out.put(ctx, b); err != nil {
		t.Fatal(err)
	}
	if err := <-pushed; !errors.Is(err, failed) {
		t.Errorf("the worker went on: %v", err)
	}
	if err := out.Finish(ctx, failed); !errors.Is(err, failed) {
		t.Error(err)
	}
}
