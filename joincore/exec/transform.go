package exec

import (
	"context"
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Side is one side of a join that is transformed before matching (GFTR, section
// 4).
type Side struct {
	Space  device.Space
	Key    *device.Key
	Carry  []joincore.ColumnRef // columns moved with the key: OM (GFTR); none: UM (GFUR)
	RowIDs []int                // inputs whose other columns are fetched by row id
}

// Transformed is a transformed build side. Several probe sides may be joined
// with it, one after the other.
type Transformed interface {
	// Await waits until the build rows are available. Probe waits, too.
	Await(ctx context.Context) error
	// Space returns the build rows that probes mark. They are available after
	// Await.
	Space() device.Space
	// Probe transforms a probe side in the same way and returns the source of
	// matches.
	Probe(ctx context.Context, probe Side) (Matches, error)
	Release()
}

// Matches is the source of a join's result rows.
type Matches interface {
	Source
	Release() // frees the transformed probe side
}

// Transform sorts the build side of a join, or partitions it by the given
// number of radix bits, according to a.
func Transform(ctx context.Context, d device.Chunked, a joincore.Algorithm, plan *Plan, build Side, bits int, c *Counter) (Transformed, error) {
	switch a {
	case joincore.PHJUM, joincore.PHJOM:
		return newPartitioned(ctx, d, plan, build, bits, c)
	case joincore.SMJUM, joincore.SMJOM:
		return newSorted(ctx, d, plan, build, c)
	}
	return nil, fmt.Errorf("transforming for %v: %w", a, joincore.ErrUnsupported)
}

// transformed is a build side in the order of S, which is also the probe side's.
type transformed[S device.Space] struct {
	plan    *Plan
	counter *Counter
	build   S
	order[S]
}

// order is how the sides of a join are transformed, and matched then.
type order[S device.Space] struct {
	transform func(ctx context.Context, s Side, keepNulls bool) (S, error)
	await     func(ctx context.Context, s S) error
	match     func(ctx context.Context, build, probe S) (Matches, error)
}

func newTransformed[S device.Space](ctx context.Context, plan *Plan, build Side, c *Counter, o order[S]) (Transformed, error) {
	t := &transformed[S]{plan: plan, counter: c, order: o}
	err := timed(&c.BuildPrepare, func() (err error) {
		t.build, err = t.transform(ctx, build, plan.keepsBuild())
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
	var probe S
	err := timed(&t.counter.ProbePrepare, func() (err error) {
		probe, err = t.transform(ctx, side, t.plan.keepsProbe())
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := t.await(ctx, t.build); err != nil {
		probe.Release()
		return nil, err
	}
	matches, err := t.match(ctx, t.build, probe)
	if err != nil {
		probe.Release()
		return nil, err
	}
	return matches, nil
}

// withoutKey stands for the build side of the probe rows whose key is NULL.
const withoutKey = -1

// probePart is a run of rows of a transformed probe side.
type probePart struct {
	space    device.Space
	first, n int
	chunk    int
}

// pass pushes the rows as they are.
func (p *probePart) pass(ctx context.Context, st device.ChunkStream, c *Counter, push Push) error {
	return scanMorsel(ctx, st, p.space, morsel{0, p.first, p.n}, p.chunk, func(r device.Rows, n int) error {
		c.Out.Add(int64(n))
		return push(r, n)
	})
}

// probe pushes the matches of the rows with a table.
func (p *probePart) probe(ctx context.Context, st device.ChunkStream, prober device.Prober, t device.Table, c *Counter, push Push) error {
	return scanMorsel(ctx, st, p.space, morsel{0, p.first, p.n}, p.chunk, func(r device.Rows, _ int) error {
		return probe(ctx, prober, r, t, c, push)
	})
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
	out := Side{Space: space, Key: s.key}
	base := slices.Index(e.spaces, space)
	out.Carry, out.RowIDs = device.Carried(s.needed.of(s.inputs), func(c joincore.ColumnRef) bool {
		return j.decision.Algorithm.OM() && base == c.Input && movable(e.columnOf(c))
	})
	return out
}

// movable counts the columns of a side that OM would move with the key.
func (e *chunked) movable(s *side) int {
	n := 0
	if !hasJoin(s.node) {
		for _, c := range s.needed.of(s.inputs) {
			if movable(e.columnOf(c)) {
				n++
			}
		}
	}
	return n
}

func movable(c joincore.Column) bool {
	return c.Kind == joincore.Fixed && c.Width <= carryWidth
}
