package bulk

import (
	"context"
	"sync"

	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// emit runs a stage of the join and passes its rows on in spaces of bounded size.
func (j *join) emit(ctx context.Context, stage exec.Stage, to func(device.Space) error) error {
	var turn sync.Mutex
	p := &exec.Pipeline{
		Device: j.dev.inner,
		Stages: []exec.Stage{stage},
		Consume: func(ctx context.Context, st device.ChunkStream) exec.Consumer {
			return &emitter{join: j, ctx: ctx, st: st, to: to, turn: &turn}
		},
	}
	return p.Run(ctx)
}

// emitter stores the rows of one worker until they fill a space.
type emitter struct {
	*join
	ctx    context.Context
	st     device.ChunkStream
	to     func(device.Space) error
	turn   *sync.Mutex // serialises the emission of spaces
	tuples device.Tuples
	rows   int
}

func (e *emitter) Push(r device.Rows, n int) error {
	if e.rows+n > e.dev.emitRows {
		if err := e.Finish(); err != nil {
			return err
		}
	}
	if e.tuples == nil {
		var err error
		if e.tuples, err = e.dev.inner.NewTuples(inputsOf(e.spec.KeepBuild, e.spec.KeepProbe), nil); err != nil {
			return err
		}
	}
	e.rows += n
	return e.st.Append(r, e.tuples)
}

// Finish emits the stored rows.
func (e *emitter) Finish() error {
	if e.tuples == nil {
		return nil
	}
	if err := e.st.Sync(e.ctx); err != nil {
		return err
	}
	s := newSpace(nil, e.spec.KeepBuild, e.spec.KeepProbe)
	s.finish(e.tuples, nil)
	e.tuples, e.rows = nil, 0
	defer s.Release()
	e.turn.Lock()
	defer e.turn.Unlock()
	if e.ctx.Err() != nil { // another worker's emit failed
		return context.Cause(e.ctx)
	}
	return e.to(s)
}

func (e *emitter) Close() {
	if e.tuples != nil {
		// The stream may still write to them after the end; its error was
		// returned already.
		_ = e.st.Sync(context.WithoutCancel(e.ctx))
		e.tuples.Release()
	}
}
