package exec

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore/device"
)

// Gatherer gathers whole spaces into batches of a sink, on all streams of a
// device. It is not safe for concurrent use.
type Gatherer struct {
	device  device.Device
	out     *Output
	streams []device.Stream // opened as they are needed
	took    time.Duration
}

// NewGatherer returns a gatherer. The caller must call Close.
func NewGatherer(d device.Device, out *Output) *Gatherer {
	return &Gatherer{device: d, out: out}
}

// Gather writes all rows of a space, and returns when the sink has received
// them.
func (g *Gatherer) Gather(ctx context.Context, s device.Space) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	parts := morsels(s.Segments(), g.device.ChunkRows())
	workers := min(g.device.Streams(), len(parts))
	before := g.out.Gathers.Each(workers)
	defer func() { g.took += g.out.Gathers.Each(workers) - before }()
	var next atomic.Int64
	var wait sync.WaitGroup
	for i := range workers {
		if i == len(g.streams) {
			st, err := g.device.NewStream()
			if err != nil {
				stop(err)
				break
			}
			g.streams = append(g.streams, st)
		}
		st := g.streams[i]
		wait.Go(func() {
			if err := g.work(ctx, st, s, parts, &next); err != nil {
				stop(err)
			}
		})
	}
	wait.Wait()
	return g.out.Finish(ctx, context.Cause(ctx))
}

func (g *Gatherer) work(ctx context.Context, st device.Stream, s device.Space, parts []morsel, next *atomic.Int64) (err error) {
	defer device.Recover(&err)
	device.PanicOnFault()
	emitter := g.out.NewEmitter(ctx, st)
	for {
		i := int(next.Add(1)) - 1
		if i >= len(parts) {
			return nil
		}
		if err := scanMorsel(ctx, st, s, parts[i], g.device.ChunkRows(), emitter.Push); err != nil {
			return err
		}
	}
}

// Took returns the time spent gathering, without waits for the sink.
func (g *Gatherer) Took() time.Duration { return g.took }

// Close closes the streams.
func (g *Gatherer) Close() {
	for _, st := range g.streams {
		st.Close()
	}
	g.streams = nil
}
