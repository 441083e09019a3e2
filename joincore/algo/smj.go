package algo

import (
	"context"

	"gpujoin/joincore/device"
)

// sortedBuild is a build side that has been sorted by its keys.
type sortedBuild struct {
	device  device.Chunked
	plan    *Plan
	counter *Counter
	build   device.Sorted
}

func newSortedBuild(ctx context.Context, d device.Chunked, plan *Plan, build Side, c *Counter) (*sortedBuild, error) {
	b := &sortedBuild{device: d, plan: plan, counter: c}
	err := timed(&c.BuildPrepare, func() (err error) {
		b.build, err = b.sort(ctx, build, plan.keepsBuild())
		return err
	})
	return b, err
}

func (b *sortedBuild) sort(ctx context.Context, s Side, keepNulls bool) (device.Sorted, error) {
	return b.device.Sort(ctx, s.Space, device.SortSpec{Key: s.Key, Carry: s.Carry, RowIDs: s.RowIDs, KeepNulls: keepNulls})
}

func (b *sortedBuild) Space() device.Space { return b.build }
func (b *sortedBuild) Release()            { b.build.Release() }

// Probe sorts the probe side.
func (b *sortedBuild) Probe(ctx context.Context, probe Side) (Matches, error) {
	b.counter.In.Add(rowsOf(probe.Space))
	j := &mergeJoin{plan: b.plan, build: b.build, chunk: b.device.ChunkRows(), counter: b.counter}
	err := timed(&b.counter.ProbePrepare, func() (err error) {
		j.probe, err = b.sort(ctx, probe, b.plan.keepsProbe())
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := j.divide(ctx, b.device); err != nil {
		j.Release()
		return nil, err
	}
	return j, nil
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
	keyed, err := j.probe.Keyed(ctx)
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
