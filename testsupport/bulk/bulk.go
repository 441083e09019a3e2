// Package bulk wraps a Chunked device as a Bulk one, with the algorithms of
// joincore/exec, so that plans over whole spaces can be tested without a real
// Bulk device.
//
// It is as strict as a Bulk device may be. Filters and builds run
// asynchronously; the size of a result is available only after it was awaited;
// only what a step was told to keep can be read; an emitted space is invalid
// when emit returns; and a space cannot be released before those made from it.
// It panics if a caller violates these rules.
package bulk

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// Provider wraps another provider with Chunked devices.
type Provider struct{ Inner device.Provider }

// Name returns the inner provider's name with the prefix "bulk-".
func (p *Provider) Name() string { return "bulk-" + p.Inner.Name() }

// Check asks the inner provider.
func (p *Provider) Check(plan *joincore.Checked) error { return device.Check(p.Inner, plan) }

// emitRows is the default number of rows of an emitted space.
const emitRows = 1 << 14

// Open starts an execution.
func (p *Provider) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	emit := opt.EmitRows
	if emit <= 0 {
		emit = emitRows
	}
	if opt.ChunkRows <= 0 || opt.ChunkRows > emit { // chunks are not divided
		opt.ChunkRows = min(emit, 1<<12)
	}
	inner, err := p.Inner.Open(mem, opt)
	if err != nil {
		return nil, err
	}
	chunked, ok := inner.(device.Chunked)
	if !ok {
		inner.Close()
		return nil, fmt.Errorf("whole steps on a %T: %w", inner, joincore.ErrUnsupported)
	}
	return &dev{inner: chunked, emitRows: emit}, nil
}

type dev struct {
	inner    device.Chunked
	emitRows int
}

func (d *dev) At() device.Location { return d.inner.At() }
func (d *dev) Streams() int        { return d.inner.Streams() }
func (d *dev) ChunkRows() int      { return d.inner.ChunkRows() }
func (d *dev) Close()              { d.inner.Close() }

func (d *dev) Import(input int, r *joincore.Relation) (device.Space, error) {
	inner, err := d.inner.Import(input, r)
	if err != nil {
		return nil, err
	}
	s := newSpace(nil)
	s.inputs = []int{input}
	s.finish(inner, nil)
	s.seen.Store(true)
	return s, nil
}

func (d *dev) Rows(s device.Space) device.Count {
	h := use(s)
	return device.Pending(d.At(), func(ctx context.Context) (int64, error) {
		inner, err := h.await(ctx)
		if err != nil {
			return 0, err
		}
		h.seen.Store(true)
		n := int64(0)
		for _, segment := range inner.Segments() {
			n += int64(segment.Rows)
		}
		return n, nil
	})
}

func (d *dev) Filter(ctx context.Context, from device.Space, e joincore.Expr, parameters []joincore.Parameter, keep device.Keep) (device.Space, error) {
	source := use(from)
	source.mustHold(joincore.Columns(e)...)
	source.mustKeep(keep)
	out := newSpace(source, keep)
	out.start(ctx, func(ctx context.Context) (device.Space, error) {
		return d.collect(ctx, source, keep, &exec.FilterStep{Context: ctx, Predicate: e, Parameters: parameters})
	})
	return out, nil
}

// collect stores the rows of a space that pass some steps, as row ids.
func (d *dev) collect(ctx context.Context, from *space, keep device.Keep, steps ...exec.Step) (device.Space, error) {
	inner, err := from.await(ctx)
	if err != nil {
		return nil, err
	}
	t, err := d.inner.NewTuples(inputsOf(keep), nil)
	if err != nil {
		return nil, err
	}
	if err := d.append(ctx, inner, t, steps...); err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

func (d *dev) append(ctx context.Context, from device.Space, to device.Tuples, steps ...exec.Step) error {
	p := &exec.Pipeline{
		Device:  d.inner,
		Stages:  []exec.Stage{{Source: exec.NewScan(d.inner, from), Steps: steps}},
		Consume: exec.Collect(to),
	}
	return p.Run(ctx)
}
