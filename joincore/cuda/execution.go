//go:build cuda

package cuda

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// execution is a workspace opened for one execution of a plan. One goroutine at
// a time runs steps; streams gather in other goroutines.
type execution struct {
	p         *Provider
	workspace *workspace
	mem       joincore.Memory // host memory of the job
	opt       device.Options
	streams   int
	chunk     int
	inputs    []*input
	shares    *sharing     // inputs with executions on other devices; nil: none
	copied    atomic.Int64 // bytes from other devices

	loading sync.Mutex // guards the upload stream; taken before mu, and after a view's

	mu     sync.Mutex      // guards the heap and the fields below
	opened int             // transfer streams in use
	steps  *driver.Event   // a point of the main stream
	events []*driver.Event // of the workspace, in use
}

// chunkRows is the number of rows that are gathered at a time.
const chunkRows = 1 << 18

func newExecution(p *Provider, s *workspace, mem joincore.Memory, opt device.Options) *execution {
	e := &execution{p: p, workspace: s, mem: mem, opt: opt, streams: len(s.gather), chunk: chunkRows}
	if opt.Seed == 0 { // a random seed, so that users cannot construct keys that collide
		e.opt.Seed = rand.Uint64()
	}
	if opt.Streams > 0 {
		e.streams = min(opt.Streams, e.streams)
	}
	if opt.ChunkRows > 0 {
		e.chunk = opt.ChunkRows
	}
	return e
}

func (e *execution) Streams() int   { return e.streams }
func (e *execution) ChunkRows() int { return e.chunk }

// At returns the location of the GPU.
func (e *execution) At() device.Location { return device.Location(e.p.Info().Ordinal) }

// Close waits for the device and returns the workspace to the provider, as soon as no other
// device reads its memory. If the device was lost, the workspace is not reused.
func (e *execution) Close() {
	if e.shares != nil {
		e.shares.leave(e)
	}
	e.workspace.events = append(e.workspace.events, e.events...)
	e.events = nil
	if e.workspace.reset() != nil {
		return
	}
	if t, ok := e.opt.Common.(*outofcore.SharedJoin); ok {
		t.AfterReads(func() { e.p.returnWorkspace(e.workspace) })
	} else {
		e.p.returnWorkspace(e.workspace)
	}
}

// Import registers an input.
func (e *execution) Import(number int, r *joincore.Relation) (device.Space, error) {
	host, err := hostinput.New(number, r)
	if err != nil {
		return nil, err
	}
	for len(e.inputs) <= number {
		e.inputs = append(e.inputs, nil)
	}
	host.Seed = e.opt.Seed
	e.inputs[number] = &input{Input: host}
	all := e.segmentsView(number, 0, len(r.Segments))
	e.inputs[number].all = all
	e.share(all)
	return all.space(), nil
}

// input is a base input, and all its rows.
type input struct {
	*hostinput.Input
	all *view
}

// Rows returns the number of rows of a space, which is known when the space is
// made.
func (e *execution) Rows(s device.Space) device.Count { return device.Known(e.space(s).rows) }

func (e *execution) describe(ref joincore.ColumnRef) joincore.Column {
	return e.inputs[ref.Input].Relation.Columns[ref.Column]
}

// event returns an event that belongs to the execution until it ends.
func (e *execution) event() (*driver.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.newEvent()
}

// newEvent is event for callers that hold mu.
func (e *execution) newEvent() (*driver.Event, error) {
	event, err := e.workspace.event(e.p.context)
	if err == nil {
		e.events = append(e.events, event)
	}
	return event, err
}

// alloc allocates memory of the heap. The caller holds mu. If the memory was
// used before in this execution, the load stream waits until that use is over.
func (e *execution) alloc(bytes int64) (driver.Ptr, error) {
	bytes = driver.Lines(bytes)
	at, used, err := e.workspace.heap.alloc(bytes)
	if err != nil {
		return 0, err
	}
	p := driver.Ptr(at)
	if !used && int64(p-e.workspace.arena.Base()) >= e.workspace.arena.Peak() {
		return p, nil
	}
	if e.steps == nil {
		if e.steps, err = e.newEvent(); err != nil {
			return 0, err
		}
	}
	return p, errors.Join(e.workspace.main.Stream().Record(e.steps), e.workspace.upload.stream.Wait(e.steps))
}

func (e *execution) release(p driver.Ptr, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.workspace.heap.release(int64(p), driver.Lines(bytes))
}

// lookup finds the columns of a space for work on a stream.
func (e *execution) lookup(ctx context.Context, s *space, st *driver.Stream) rowid.Lookup {
	return e.lookupAfter(ctx, s, st.Wait)
}

// lookupAfter finds the columns of a space. It calls wait with the event after which a column
// can be read.
func (e *execution) lookupAfter(ctx context.Context, s *space, wait func(ready *driver.Event) error) rowid.Lookup {
	return func(ref joincore.ColumnRef) (rowid.Column, error) {
		if c, ok := s.carried[ref]; ok {
			return c, nil
		}
		m, ok := s.members[ref.Input]
		if !ok {
			return rowid.Column{Missing: true, Width: e.describe(ref).Width}, nil
		}
		base, err := m.view.column(ctx, ref.Column)
		if err != nil {
			return rowid.Column{}, err
		}
		if err := wait(base.ready); err != nil {
			return rowid.Column{}, err
		}
		c := base.Column
		c.Positions, c.Optional = m.positions, m.optional
		return c, nil
	}
}

// side is a space as the steps of package rowid read it.
func (e *execution) side(ctx context.Context, s *space) rowid.Side {
	return rowid.Side{Rows: s.rows, Lookup: e.lookup(ctx, s, e.workspace.main.Stream())}
}

var _ device.Bulk = (*execution)(nil)
