package bulk

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// space is a handle of rows that may still be computed.
type space struct {
	inputs []int         // inputs of the rows
	keeps  []device.Keep // what can be read of the rows; nil: everything
	source *space        // must not be released before this one
	users  atomic.Int64  // spaces whose source is this one
	seen   atomic.Bool   // the number of rows was awaited
	dead   atomic.Bool

	stop  context.CancelFunc
	done  chan struct{}
	inner device.Space // valid when done, unless err is set
	err   error
}

func newSpace(source *space, keeps ...device.Keep) *space {
	if source != nil {
		source.users.Add(1)
	}
	return &space{source: source, inputs: inputsOf(keeps...), keeps: keeps, stop: func() {}, done: make(chan struct{})}
}

// finish completes the handle.
func (s *space) finish(inner device.Space, err error) {
	s.inner, s.err = inner, err
	close(s.done)
}

// start makes the space asynchronously.
func (s *space) start(ctx context.Context, make func(context.Context) (device.Space, error)) {
	ctx, s.stop = context.WithCancel(ctx)
	go func() { s.finish(protected(ctx, make)) }()
}

// protected calls make and returns panics as errors.
func protected[T any](ctx context.Context, make func(context.Context) (T, error)) (made T, err error) {
	defer device.Recover(&err)
	return make(ctx)
}

// await returns the space of the inner device.
func (s *space) await(ctx context.Context) (device.Space, error) {
	select {
	case <-s.done:
		return s.inner, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// use returns the handle of s and panics if it was released.
func use(s device.Space) *space {
	h, ok := s.(*space)
	if !ok {
		panic(fmt.Sprintf("a %T is not a space of this device", s))
	}
	if h.dead.Load() {
		panic("space used after its release")
	}
	return h
}

func (s *space) Segments() []device.Segment {
	if !use(s).seen.Load() {
		panic("segments of a space whose rows were not awaited")
	}
	return s.inner.Segments()
}

func (s *space) Release() {
	use(s)
	if s.users.Load() > 0 {
		panic("space released before what was made of it")
	}
	s.dead.Store(true)
	s.stop()
	<-s.done
	if s.err == nil {
		s.inner.Release()
	}
	if s.source != nil {
		s.source.users.Add(-1)
	}
}

// mustHold panics if the rows do not hold the columns.
func (s *space) mustHold(columns ...joincore.ColumnRef) {
	for _, c := range columns {
		if s.keeps != nil && !slices.ContainsFunc(s.keeps, func(k device.Keep) bool { return holds(k, c) }) {
			panic(fmt.Sprintf("column %v was not kept", c))
		}
	}
}

func holds(k device.Keep, c joincore.ColumnRef) bool {
	return slices.Contains(k.Columns, c) || slices.Contains(k.Inputs, c.Input)
}

// mustKeep panics if the rows do not hold what k keeps of them.
func (s *space) mustKeep(k device.Keep) {
	s.mustHold(k.Columns...)
	s.mustHold(k.Late...)
	for _, c := range k.Late {
		if !slices.Contains(k.Inputs, c.Input) {
			panic(fmt.Sprintf("column %v is to be fetched late without row numbers", c))
		}
	}
	for _, i := range k.Inputs {
		if s.keeps != nil && !slices.ContainsFunc(s.keeps, func(k device.Keep) bool { return slices.Contains(k.Inputs, i) }) {
			panic(fmt.Sprintf("row numbers of input %d were not kept", i))
		}
	}
}

// inputsOf returns the inputs whose row ids are stored.
func inputsOf(keeps ...device.Keep) []int {
	var out []int
	for _, k := range keeps {
		out = append(out, k.Inputs...)
		for _, c := range k.Columns {
			out = append(out, c.Input)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
