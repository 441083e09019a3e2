package exec

import (
	"context"

	"gpujoin/joincore/device"
)

// newSorted sorts the build side of a join, and later the probe side, by their
// keys.
func newSorted(ctx context.Context, d device.Chunked, plan *Plan, build Side, c *Counter) (Transformed, error) {
	sort := func(ctx context.Context, s Side, keepNulls bool) (device.Sorted, error) {
		return d.Sort(ctx, s.Space, device.SortSpec{Key: s.Key, Carry: s.Carry, RowIDs: s.RowIDs, KeepNulls: keepNulls})
	}
	await := func(ctx context.Context, s device.Sorted) error {
		_, err := s.Keyed().Wait(ctx)
		return err
	}
	match := func(ctx context.Context, build, probe device.Sorted) (Matches, error) {
		j := &mergeJoin{plan: plan, build: build, probe: probe, chunk: d.ChunkRows(), counter: c}
		return j, j.divide(ctx, d)
	}
	return newTransformed(ctx, plan, build, c, order[device.Sorted]{sort, await, match})
}

// mergeJoin is the source of the matches of two sorted relations (GFTR,
// section 4.2). Tasks are parts of the merge path, so that neither repeating
// keys nor sides of unequal size make one of them longer than others.
type mergeJoin struct {
	plan         *Plan
	build, probe device.Sorted
	tasks        []mergeTask
	chunk        int
	counter      *Counter
}

// A task has the build row to begin with, or none for the probe rows without
// key.
type mergeTask struct {
	build    int64
	first, n int // probe rows
}

func (j *mergeJoin) Release() { j.probe.Release() }

func (j *mergeJoin) divide(ctx context.Context, d device.Chunked) error {
	keyed, err := j.probe.Keyed().Wait(ctx)
	if err != nil {
		return err
	}
	work := int(rowsOf(j.build) + keyed)
	points, err := d.MergePath(ctx, j.build, j.probe, min(work/(4*j.chunk)+1, 16*d.Streams()))
	if err != nil {
		return err
	}
	for i, p := range points[:len(points)-1] {
		if n := points[i+1].Probe - p.Probe; n > 0 {
			j.tasks = append(j.tasks, mergeTask{p.Build, int(p.Probe), int(n)})
		}
	}
	if rest := rowsOf(j.probe) - keyed; rest > 0 {
		j.tasks = append(j.tasks, mergeTask{withoutKey, int(keyed), int(rest)})
	}
	return nil
}

func (j *mergeJoin) Tasks() int { return len(j.tasks) }

func (j *mergeJoin) Open(st device.ChunkStream) func(context.Context, int, Push) error {
	prober := st.NewProber(&j.plan.Match)
	return func(ctx context.Context, task int, push Push) error {
		t := j.tasks[task]
		part := probePart{space: j.probe, first: t.first, n: t.n, chunk: j.chunk}
		if t.build == withoutKey {
			return part.pass(ctx, st, j.counter, push)
		}
		table, err := st.MergeMatch(j.build, t.build, &j.plan.Match)
		if err != nil {
			return err
		}
		return part.probe(ctx, st, prober, table, j.counter, push)
	}
}
