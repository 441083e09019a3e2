package separate

import (
	"context"

	"gpujoin/joincore/device"
)

// stream executes on a goroutine of its own, in order. After an error it skips
// all later work; waiting callers get the error.
type stream struct {
	dev   *dev
	inner device.ChunkStream
	queue chan func(error) error // each gets the stream's error and returns the new one
	done  chan struct{}

	scan, marked producer
	staging      staging
}

// rows is a handle whose chunk the goroutine fills in.
type rows struct {
	inner      device.Rows
	producer   *producer
	generation int
}

// producer invalidates its previous result with each new one.
type producer struct{ generation int }

func (p *producer) next() *rows {
	p.generation++
	return &rows{producer: p, generation: p.generation}
}

// live returns the handle, and panics if it is stale.
func live(r device.Rows) *rows {
	h := r.(*rows)
	if h.producer != nil && h.producer.generation != h.generation {
		panic("rows used after their producer went on")
	}
	return h
}

func (d *dev) NewStream() (device.Stream, error) { return d.NewChunkStream() }

func (d *dev) NewChunkStream() (device.ChunkStream, error) {
	inner, err := d.inner.NewChunkStream()
	if err != nil {
		return nil, err
	}
	d.streams.Add(1)
	s := &stream{dev: d, inner: inner, queue: make(chan func(error) error, 64), done: make(chan struct{})}
	go s.work()
	return s, nil
}

func (s *stream) work() {
	defer close(s.done)
	var err error
	for f := range s.queue {
		err = f(err)
	}
}

func protect(f func() error) (err error) {
	defer device.Recover(&err)
	return f()
}

// do queues f, which runs unless earlier work failed.
func (s *stream) do(f func() error) {
	s.queue <- func(err error) error {
		if err != nil {
			return err
		}
		return protect(f)
	}
}

// await returns a function that waits for all work queued so far.
func (s *stream) await() func(context.Context) error {
	outcome := make(chan error, 1)
	s.queue <- func(err error) error {
		outcome <- err
		return err
	}
	return func(ctx context.Context) error {
		select {
		case err := <-outcome:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *stream) At() device.Location { return s.dev.at }

// Sync waits for all earlier work.
func (s *stream) Sync(ctx context.Context) error { return s.await()(ctx) }

// count returns a future of n, which the goroutine writes; `after` runs on the
// host once it is known.
func (s *stream) count(n *device.Count, after func()) device.Count {
	wait := s.await()
	return device.Pending(s.dev.at, func(ctx context.Context) (int64, error) {
		if err := wait(ctx); err != nil {
			return 0, err
		}
		if after != nil {
			after()
		}
		return n.Wait(ctx)
	})
}

func (s *stream) Close() {
	close(s.queue)
	<-s.done
	s.unstage()
	s.inner.Close()
	s.dev.streams.Add(-1)
}
