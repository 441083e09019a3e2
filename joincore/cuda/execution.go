//go:build cuda

package cuda

import (
	"context"
	"math/rand/v2"
	"sync"

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
	workspace *workspace
	leave     func(*workspace) // takes the workspace back
	mem       joincore.Memory  // host memory of the job
	opt       device.Options
	streams   int
	chunk     int
	inputs    []*input
	shares    *sharing // inputs with executions on other devices; nil: none
	need      int64    // bytes that the inputs are likely to need
	unpin     func()   // gives up memory that other executions have read; nil: none do

	mu     sync.Mutex // guards the field below
	opened int        // streams that gather
}

// chunkRows is the number of rows that are gathered at a time.
const chunkRows = 1 << 18

func newExecution(s *workspace, mem joincore.Memory, opt device.Options, leave func(*workspace)) *execution {
	e := &execution{workspace: s, leave: leave, mem: mem, opt: opt, streams: len(s.gather), chunk: chunkRows}
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
func (e *execution) At() device.Location { return e.workspace.at() }

// Close waits for the device and returns the workspace to the provider, as soon as no other
// device reads its memory. If the device was lost, the workspace is not reused.
func (e *execution) Close() {
	if e.shares != nil {
		e.shares.leave(e.workspace)
	}
	lost := e.workspace.sync() != nil
	giveBack := func() {
		if !lost {
			e.giveBack()
		}
	}
	if at, ok := e.opt.Common.Team.(*spreadPlace); ok {
		at.end(giveBack)
	} else {
		giveBack()
	}
}

// giveBack frees the memory of an execution whose work has ended.
func (e *execution) giveBack() {
	if e.unpin != nil {
		e.unpin()
	}
	if e.keepColumns() != nil {
		return
	}
	e.releaseKept()
	if t, ok := e.opt.Common.Partition.(*outofcore.SharedJoin); ok {
		t.AfterReads(func() { e.leave(e.workspace) })
	} else {
		e.leave(e.workspace)
	}
}

// Import registers an input.
func (e *execution) Import(number int, r *joincore.Relation) (device.Space, error) {
	all, low, high := r, 0, len(r.Segments)
	x, member := e.meets()
	if x != nil {
		if side := x.Side(number); side >= 0 && x.Numbers(side) {
			all, low, high = x.Ranges(side, member)
		}
	}
	host, err := hostinput.New(number, all)
	if err != nil {
		return nil, err
	}
	for len(e.inputs) <= number {
		e.inputs = append(e.inputs, nil)
	}
	host.Seed = e.opt.Seed
	in := &input{Input: host, keeps: e.findKept(r, host.Starts[low])}
	e.inputs[number] = in
	in.own = e.segmentsView(number, low, high)
	in.own.whole, in.all = true, in.own
	if all != r {
		in.all = e.segmentsView(number, 0, len(all.Segments))
	}
	e.makeRoom(in)
	e.share(in.own)
	return in.own.space(), nil
}

// input is a base input.
type input struct {
	*hostinput.Input
	all *view // of its rows
	// own are the rows that the execution scans: all of them, unless other devices scan the rest and
	// rows meet with their ids.
	own   *view
	keeps []*keptColumn // of its columns; nil: nothing of it has a content
}

// Rows returns the number of rows of a space, which is known when the space is
// made.
func (e *execution) Rows(s device.Space) device.Count { return device.Known(e.space(s).rows) }

func (e *execution) describe(ref joincore.ColumnRef) joincore.Column {
	return e.inputs[ref.Input].Relation.Columns[ref.Column]
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
