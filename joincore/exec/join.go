package exec

import (
	"context"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Plan describes one join to the algorithms: the match, and the build rows to
// return after probing.
type Plan struct {
	Match    device.Match
	Leftover bool // build rows are returned after all probing
	Found    bool // return those with a partner instead of those without
}

// PlanKind says how a kind of join is executed when one side is built. It
// fills Emit and Mark of the match.
//
//	kind   built right     built left
//	inner  pairs           pairs
//	left   outer           pairs, then build rows without partner
//	right  pairs, then …   outer
//	full   outer, then …   outer, then …
//	semi   semi            only marks, then build rows with a partner
//	anti   anti            only marks, then build rows without
func PlanKind(kind joincore.Kind, buildLeft bool, m device.Match) *Plan {
	p := &Plan{Match: m}
	p.Match.Emit = device.Pairs
	outer := kind == joincore.Full || kind == joincore.Left && !buildLeft || kind == joincore.Right && buildLeft
	if outer {
		p.Match.Emit = device.Outer
	}
	switch kind {
	case joincore.Full:
		p.Leftover = true
	case joincore.Left:
		p.Leftover = buildLeft
	case joincore.Right:
		p.Leftover = !buildLeft
	case joincore.Semi, joincore.Anti:
		p.Match.Emit = device.Semi
		if kind == joincore.Anti {
			p.Match.Emit = device.Anti
		}
		if buildLeft {
			p.Match.Emit = device.Nothing
			p.Leftover, p.Found = true, kind == joincore.Semi
		}
	}
	p.Match.Mark = p.Leftover
	return p
}

// keepsProbe says whether probe rows without a key are part of the result.
func (p *Plan) keepsProbe() bool {
	return p.Match.Emit == device.Outer || p.Match.Emit == device.Anti
}

// keepsBuild says the same of build rows.
func (p *Plan) keepsBuild() bool { return p.Leftover && !p.Found }

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
