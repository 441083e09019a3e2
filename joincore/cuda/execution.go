//go:build cuda

package cuda

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// execution is a workspace opened for one execution of a plan. Steps come from one
// goroutine at a time; streams gather from others.
type execution struct {
	p         *Provider
	workspace *workspace
	mem       joincore.Memory // of the job, on the host
	opt       device.Options
	streams   int
	chunk     int
	inputs    []*input

	loading sync.Mutex // guards the upload stream; taken before mu, and after a view's

	mu     sync.Mutex      // guards the heap and what follows
	opened int             // transfer streams in use
	steps  *driver.Event   // a point of the main stream
	events []*driver.Event // of the workspace, in use
}

// chunkRows is how many rows are gathered at a time.
const chunkRows = 1 << 18

func newExecution(p *Provider, s *workspace, mem joincore.Memory, opt device.Options) *execution {
	e := &execution{p: p, workspace: s, mem: mem, opt: opt, streams: len(s.gather), chunk: chunkRows}
	if opt.Seed == 0 { // nobody can choose keys that collide
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

// At says which GPU it is.
func (e *execution) At() device.Location { return device.Location(e.p.Info().Ordinal) }

// Close waits for the device and gives the workspace back, unless the device was
// lost: then nothing of it is used again.
func (e *execution) Close() {
	e.workspace.events = append(e.workspace.events, e.events...)
	e.events = nil
	if e.workspace.reset() == nil {
		e.p.returnWorkspace(e.workspace)
	}
}

// Import remembers an input.
func (e *execution) Import(number int, r *joincore.Relation) (device.Space, error) {
	host, err := newHostInput(number, r)
	if err != nil {
		return nil, err
	}
	for len(e.inputs) <= number {
		e.inputs = append(e.inputs, nil)
	}
	host.seed = e.opt.Seed
	e.inputs[number] = &input{hostInput: host}
	all := e.segmentsView(number, 0, len(r.Segments))
	e.inputs[number].all = all
	return all.space(), nil
}

// input is a base input, and all its rows.
type input struct {
	*hostInput
	all *view
}

// Rows returns how many rows a space has, which is known when it is made.
func (e *execution) Rows(s device.Space) device.Count { return device.Known(e.space(s).rows) }

func (e *execution) describe(ref joincore.ColumnRef) joincore.Column {
	return e.inputs[ref.Input].relation.Columns[ref.Column]
}

// event returns an event that the execution has until it ends.
func (e *execution) event() (*driver.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.newEvent()
}

// newEvent does that where mu is locked.
func (e *execution) newEvent() (*driver.Event, error) {
	event, err := e.workspace.event(e.p.context)
	if err == nil {
		e.events = append(e.events, event)
	}
	return event, err
}

// alloc returns memory of the heap; mu is locked. Where it has been used before
// in this execution, what follows on the load stream waits until that is over.
func (e *execution) alloc(bytes int64) (driver.Ptr, error) {
	bytes = lines(bytes)
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
	e.workspace.heap.release(int64(p), lines(bytes))
}

func lines(bytes int64) int64 {
	return (max(bytes, 1) + driver.Line - 1) / driver.Line * driver.Line
}

// lookup finds the columns of a space for work on a stream.
func (e *execution) lookup(ctx context.Context, s *space, st *driver.Stream) rowid.Lookup {
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
		if err := st.Wait(base.ready); err != nil {
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
