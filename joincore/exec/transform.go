package exec

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Side is one side of a join that is transformed before matching (GFTR, section 4).
type Side struct {
	Space device.Space
	// Spec says what moves: with columns to carry OM (GFTR), else UM (GFUR). Bits and
	// KeepNulls follow from the join.
	Spec device.TransformSpec
}

// Transformed is a transformed build side. Several probe sides may be joined with it, one
// after the other.
type Transformed interface {
	// Await waits until the build rows are available. Probe waits, too.
	Await(ctx context.Context) error
	// Space returns the build rows that probes mark. They are available after Await.
	Space() device.Space
	// Probe transforms a probe side in the same way and returns the source of matches.
	Probe(ctx context.Context, probe Side) (Matches, error)
	Release()
}

// Matches is the source of a join's result rows.
type Matches interface {
	Source
	Release() // frees the transformed probe side
}

// Transform sorts the build side of a join, or partitions it by the given number of radix
// bits of their hashed keys, according to a.
func Transform(ctx context.Context, d device.Chunked, a joincore.Algorithm, plan *Plan, build Side, bits int, c *Counter) (Transformed, error) {
	switch a {
	case joincore.PHJUM, joincore.PHJOM:
		build.Spec.Bits = bits
		return newTransformed(ctx, d, plan, build, c, order[device.Partitions]{d.Partition, awaitPartitions, dividePartitions, buildPartition})
	case joincore.SMJUM, joincore.SMJOM:
		return newTransformed(ctx, d, plan, build, c, order[device.Sorted]{d.Sort, awaitSorted, divideSorted, mergeMatch})
	}
	return nil, fmt.Errorf("transforming for %v: %w", a, joincore.ErrUnsupported)
}

// transformed is a build side in the order of S, which is also the probe side's.
type transformed[S device.Space] struct {
	device  device.Chunked
	plan    *Plan
	counter *Counter
	bits    int
	build   S
	order[S]
}

// order is how the sides of a join are transformed, and matched then.
type order[S device.Space] struct {
	transform func(ctx context.Context, s device.Space, spec device.TransformSpec) (S, error)
	await     func(ctx context.Context, s S) error
	divide    func(ctx context.Context, j *matches[S]) error
	table     func(ctx context.Context, st device.ChunkStream, j *matches[S], build int64) (device.Table, error)
}

func newTransformed[S device.Space](ctx context.Context, d device.Chunked, plan *Plan, build Side, c *Counter, o order[S]) (Transformed, error) {
	t := &transformed[S]{device: d, plan: plan, counter: c, bits: build.Spec.Bits, order: o}
	err := timed(&c.BuildPrepare, func() (err error) {
		build.Spec.KeepNulls = plan.keepsBuild()
		t.build, err = t.transform(ctx, build.Space, build.Spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *transformed[S]) Await(ctx context.Context) error { return t.await(ctx, t.build) }
func (t *transformed[S]) Space() device.Space             { return t.build }
func (t *transformed[S]) Release()                        { t.build.Release() }

func (t *transformed[S]) Probe(ctx context.Context, side Side) (Matches, error) {
	t.counter.In.Add(rowsOf(side.Space))
	j := &matches[S]{transformed: t}
	err := timed(&t.counter.ProbePrepare, func() (err error) {
		side.Spec.Bits, side.Spec.KeepNulls = t.bits, t.plan.keepsProbe()
		j.probe, err = t.transform(ctx, side.Space, side.Spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err = t.Await(ctx); err == nil {
		err = t.divide(ctx, j)
	}
	if err != nil {
		j.Release()
		return nil, err
	}
	return j, nil
}

// matches is the source of the matches of two transformed relations.
type matches[S device.Space] struct {
	*transformed[S]
	probe S
	tasks []matchTask
}

// matchTask matches some probe rows with the build rows that build names to order.table.
type matchTask struct {
	build    int64 // withoutKey: none
	first, n int   // probe rows
}

// withoutKey stands for the build side of the probe rows whose key is NULL.
const withoutKey = -1

func (j *matches[S]) Release()   { j.probe.Release() }
func (j *matches[S]) Tasks() int { return len(j.tasks) }

func (j *matches[S]) Open(st device.ChunkStream) func(context.Context, int, Push) error {
	prober, chunk := st.NewProber(&j.plan.Match), j.device.ChunkRows()
	return func(ctx context.Context, task int, push Push) error {
		t := j.tasks[task]
		rows := morsel{0, t.first, t.n}
		if t.build == withoutKey {
			return scanMorsel(ctx, st, j.probe, rows, chunk, func(r device.Rows, n int) error {
				j.counter.Out.Add(int64(n))
				return push(r, n)
			})
		}
		table, err := j.table(ctx, st, j, t.build)
		if err != nil {
			return err
		}
		return scanMorsel(ctx, st, j.probe, rows, chunk, func(r device.Rows, _ int) error {
			return probe(ctx, prober, r, table, j.counter, push)
		})
	}
}

func awaitPartitions(ctx context.Context, p device.Partitions) error {
	_, err := p.Bounds().Wait(ctx)
	return err
}

// dividePartitions makes tasks of about equal size (GFTR, section 4.3). A task joins one
// partition: it builds a table that stays in the core's cache and probes it with the probe
// side's partition. A large probe partition is split into several tasks. Each builds the
// table again, which is cheap compared with its probes.
func dividePartitions(ctx context.Context, j *matches[device.Partitions]) error {
	build, err := j.build.Bounds().Wait(ctx)
	if err != nil {
		return err
	}
	probe, err := j.probe.Bounds().Wait(ctx)
	if err != nil {
		return err
	}
	divide := func(build, from, to, most int64) {
		for at := from; at < to; at += most {
			j.tasks = append(j.tasks, matchTask{build, int(at), int(min(most, to-at))})
		}
	}
	last, chunk := len(probe)-2, int64(j.device.ChunkRows())
	share := max(probe[last+1]/int64(j.device.Streams()*8), 4*chunk)
	for p := range last {
		if rows := build[p+1] - build[p]; rows > 0 || j.plan.keepsProbe() {
			divide(int64(p), probe[p], probe[p+1], max(share, 4*rows))
		}
	}
	divide(withoutKey, probe[last], probe[last+1], share)
	return nil
}

func buildPartition(ctx context.Context, st device.ChunkStream, j *matches[device.Partitions], partition int64) (device.Table, error) {
	start := time.Now()
	table, err := st.BuildPartition(ctx, j.build, int(partition), &j.plan.Match)
	took := time.Since(start)
	j.counter.Build.Add(took)
	j.counter.Clock.Add(took)
	return table, err
}

func awaitSorted(ctx context.Context, s device.Sorted) error {
	_, err := s.Keyed().Wait(ctx)
	return err
}

// divideSorted makes tasks of parts of the merge path (GFTR, section 4.2), so that neither
// repeating keys nor sides of unequal size make one of them longer than others.
func divideSorted(ctx context.Context, j *matches[device.Sorted]) error {
	keyed, err := j.probe.Keyed().Wait(ctx)
	if err != nil {
		return err
	}
	work := int(rowsOf(j.build) + keyed)
	points, err := j.device.MergePath(ctx, j.build, j.probe, min(work/(4*j.device.ChunkRows())+1, 16*j.device.Streams()))
	if err != nil {
		return err
	}
	for i, p := range points[:len(points)-1] {
		if n := points[i+1].Probe - p.Probe; n > 0 {
			j.tasks = append(j.tasks, matchTask{p.Build, int(p.Probe), int(n)})
		}
	}
	if rest := rowsOf(j.probe) - keyed; rest > 0 {
		j.tasks = append(j.tasks, matchTask{withoutKey, int(keyed), int(rest)})
	}
	return nil
}

func mergeMatch(_ context.Context, st device.ChunkStream, j *matches[device.Sorted], build int64) (device.Table, error) {
	return st.MergeMatch(j.build, build, &j.plan.Match)
}

func rowsOf(s device.Space) int64 {
	n := int64(0)
	for _, segment := range s.Segments() {
		n += int64(segment.Rows)
	}
	return n
}

// moved selects what is partitioned of a side. With OM it is the needed columns
// of fixed width if the side is a base relation, and row ids for the rest.
func (e *chunked) moved(s *side, space device.Space, j *join) Side {
	out := Side{space, device.TransformSpec{Key: s.key}}
	base := slices.Index(e.spaces, space)
	out.Spec.Carry, out.Spec.RowIDs = s.carried(func(c joincore.ColumnRef) bool {
		return j.decision.Algorithm.OM() && base == c.Input && e.schema.Column(c).Movable()
	})
	return out
}

// movable counts the columns of a side that OM would move with the key.
func (e *chunked) movable(s *side) int {
	n := 0
	if !hasJoin(s.node) {
		for _, c := range s.needed.of(s.inputs) {
			if e.schema.Column(c).Movable() {
				n++
			}
		}
	}
	return n
}
