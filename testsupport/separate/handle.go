package separate

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"gpujoin/joincore/device"
)

// work is the object of a handle, which the device may still be computing.
type work[T any] struct {
	done  chan struct{}
	inner T // valid when done, unless err is set
	err   error
}

func (w *work[T]) finish(inner T, err error) {
	w.inner, w.err = inner, err
	close(w.done)
}

func (w *work[T]) await(ctx context.Context) (inner T, err error) {
	select {
	case <-w.done:
		return w.inner, w.err
	case <-ctx.Done():
		return inner, context.Cause(ctx)
	}
}

// start makes an object asynchronously, after all earlier steps.
func start[T any](d *dev, w *work[T], make func() (T, error)) {
	before := d.after(w.done)
	d.steps.Go(func() {
		if before != nil {
			<-before
		}
		var inner T
		err := protect(func() (err error) {
			inner, err = make()
			return err
		})
		w.finish(inner, err)
	})
}

// after returns the end of the last step, nil if there was none, and makes `done` the
// last step's end.
func (d *dev) after(done chan struct{}) (last chan struct{}) {
	d.lock.Lock()
	defer d.lock.Unlock()
	last, d.last = d.last, done
	return last
}

// sofar returns the end of the last step, nil if there was none.
func (d *dev) sofar() chan struct{} {
	d.lock.Lock()
	defer d.lock.Unlock()
	return d.last
}

// space is a handle, invalid after Release.
type space struct {
	work[device.Space]
	dev   *dev
	users sync.WaitGroup // steps that read the space
	dead  atomic.Bool
}

func (d *dev) newSpace() *space {
	return &space{dev: d, work: work[device.Space]{done: make(chan struct{})}}
}

// there returns the handle of a finished space.
func (d *dev) there(inner device.Space, err error) (*space, error) {
	if err != nil {
		return nil, err
	}
	s := d.newSpace()
	s.finish(inner, nil)
	return s, nil
}

// step returns the handle of a space that is computed from another one.
func (d *dev) step(ctx context.Context, from device.Space, make func(device.Space) (device.Space, error)) *space {
	out := d.newSpace()
	start(d, &out.work, reading(ctx, d.use(from), make))
	return out
}

// reading returns a step that reads a space and keeps it until it is done.
func reading[T any](ctx context.Context, source *space, make func(device.Space) (T, error)) func() (T, error) {
	source.users.Add(1)
	return func() (made T, err error) {
		defer source.users.Done()
		inner, err := source.await(ctx)
		if err != nil {
			return made, err
		}
		return make(inner)
	}
}

// use returns the handle, and panics if it was released or is another device's.
func (d *dev) use(s device.Space) *space {
	h, ok := s.(*space)
	if !ok {
		panic(fmt.Sprintf("a %T is not a handle of this device", s))
	}
	if h.dev != d {
		panic(fmt.Sprintf("a space of device %d is used by device %d", h.dev.at, d.at))
	}
	return h.alive()
}

func (s *space) alive() *space {
	if s.dead.Load() {
		panic("space used after its release")
	}
	return s
}

// Segments returns the segments, all on the device.
func (s *space) Segments() []device.Segment {
	select {
	case <-s.alive().done:
	default:
		panic("segments of a space that was not awaited")
	}
	segments := s.inner.Segments()
	for i := range segments {
		segments[i].At = s.dev.at
	}
	return segments
}

func (s *space) Bounds() device.Future[[]int64] {
	s.alive()
	return device.Pending(s.dev.at, func(ctx context.Context) ([]int64, error) {
		inner, err := s.await(ctx)
		if err != nil {
			return nil, err
		}
		return inner.(device.Partitions).Bounds().Wait(ctx)
	})
}

func (s *space) Keyed() device.Count {
	s.alive()
	return device.Pending(s.dev.at, func(ctx context.Context) (int64, error) {
		inner, err := s.await(ctx)
		if err != nil {
			return 0, err
		}
		return inner.(device.Sorted).Keyed().Wait(ctx)
	})
}

// Release frees the space after the steps that compute and read it.
func (s *space) Release() {
	s.alive().dead.Store(true)
	<-s.done
	s.users.Wait()
	if s.err == nil {
		s.inner.Release()
	}
}

type table struct {
	work[device.Table]
	dev  *dev
	dead atomic.Bool
}

func (d *dev) newTable() *table {
	return &table{dev: d, work: work[device.Table]{done: make(chan struct{})}}
}

// useTable returns the table, and panics if it was released or is another device's.
func (d *dev) useTable(t device.Table) *table {
	h := t.(*table)
	if h.dev != d {
		panic(fmt.Sprintf("a table of device %d is used by device %d", h.dev.at, d.at))
	}
	if h.dead.Load() {
		panic("table used after its release")
	}
	return h
}

func (t *table) Release() {
	t.dead.Store(true)
	<-t.done
	if t.err == nil {
		t.inner.Release()
	}
}
