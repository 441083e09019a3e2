package exec

import (
	"context"
	"time"

	"gpujoin/joincore/device"
)

// ProbeStep is the probe phase of a no-partitioning join. All streams share one
// table of the whole build side (Blanas et al., SIGMOD 2011).
type ProbeStep struct {
	Context context.Context
	Plan    *Plan
	Table   device.Table
	Counter *Counter
}

// BuildTable builds the table of a no-partitioning join.
func BuildTable(ctx context.Context, d device.Chunked, plan *Plan, build device.Space, c *Counter) (t device.Table, err error) {
	err = timed(&c.BuildPrepare, func() error {
		t, err = d.Build(ctx, build, &plan.Match)
		return err
	})
	return t, err
}

func (s *ProbeStep) Open(st device.ChunkStream, push Push) Push {
	prober := st.NewProber(&s.Plan.Match)
	return func(r device.Rows, n int) error {
		s.Counter.In.Add(int64(n))
		return probe(s.Context, prober, r, s.Table, s.Counter, push)
	}
}

// probe pushes all result rows of one chunk.
func probe(ctx context.Context, p device.Prober, r device.Rows, t device.Table, c *Counter, push Push) error {
	start := time.Now()
	if err := p.Start(ctx, r, t); err != nil {
		return err
	}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		out, count, err := p.Next(ctx)
		if err != nil {
			return err
		}
		n, err := count.Wait(ctx)
		c.Clock.Add(time.Since(start))
		if err != nil || n == 0 {
			return err
		}
		c.Out.Add(n)
		if err := push(out, int(n)); err != nil {
			return err
		}
		start = time.Now()
	}
}
