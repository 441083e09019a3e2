package exec

import (
	"context"
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
	parts := morsels(s.Segments(), g.device.ChunkRows())
	workers := min(g.device.Streams(), len(parts))
	for len(g.streams) < workers {
		st, err := g.device.NewStream()
		if err != nil {
			return g.out.Finish(ctx, err)
		}
		g.streams = append(g.streams, st)
	}
	before := g.out.Gathers.Each(workers)
	tasks := device.NewTasks(len(parts))
	err := device.Workers(ctx, workers, func(ctx context.Context, worker int) error {
		st := g.streams[worker]
		emitter := g.out.NewEmitter(ctx, st)
		for i := range tasks.Deal(ctx, device.Unlimited{}) {
			if err := scanMorsel(ctx, st, s, parts[i], g.device.ChunkRows(), emitter.Push); err != nil {
				return err
			}
		}
		return nil
	})
	err = g.out.Finish(ctx, err)
	g.took += g.out.Gathers.Each(workers) - before
	return err
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
