package cpu

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// aggregation groups rows in two phases. Workers group what they are given, each
// in a table of its own, and partition the rows of groups that are more than
// these hold (grouper). Then the partitions are merged, each by one worker:
// what the tables have of it, and its rows.
type aggregation struct {
	plan     *groupPlan
	dev      *dev
	distinct []*aggregation // of the sources behind the first

	lock     sync.Mutex
	groupers []*grouper // of workers
	idle     []*grouper // of them those that no stream uses
	mergers  []*merger  // idle ones
	out      *space
	took     time.Duration // of merging

	rowsIn, groups atomic.Int64
	clock          atomic.Int64 // of workers, ns
	overflowed     atomic.Bool
}

// Aggregate begins to group rows.
func (d *dev) Aggregate(spec *device.AggregateSpec) (device.Aggregation, error) {
	return d.aggregation(newGroupPlan(d, joincore.NewAccount("groups", d.mem), spec, len(spec.Schema))), nil
}

func (d *dev) aggregation(p *groupPlan) *aggregation {
	a := &aggregation{plan: p, dev: d, out: newDerived(d, p.spec)}
	for i := range p.sources[1:] {
		a.distinct = append(a.distinct, d.aggregation(p.sources[i+1].distinct))
	}
	return a
}

// acquire returns a grouper for the rows that a stream has.
func (a *aggregation) acquire(st *stream) (*grouper, error) {
	a.lock.Lock()
	var g *grouper
	if n := len(a.idle); n > 0 {
		g, a.idle = a.idle[n-1], a.idle[:n-1]
	}
	a.lock.Unlock()
	if g == nil {
		var err error
		if g, err = a.newGrouper(0); err != nil {
			return nil, err
		}
		a.lock.Lock()
		a.groupers = append(a.groupers, g)
		a.lock.Unlock()
	}
	g.st = st
	g.only = g.only[:0]
	for _, e := range g.plan.only {
		g.only = append(g.only, st.NewFilter(e, g.plan.spec.Parameters).(*filter))
	}
	g.distinct = g.distinct[:0]
	for _, d := range a.distinct {
		of, err := d.acquire(st)
		if err != nil {
			return nil, err
		}
		g.distinct = append(g.distinct, of)
	}
	return g, nil
}

// Space merges what the workers have.
func (a *aggregation) Space(ctx context.Context) (device.Space, error) {
	start := time.Now()
	defer func() { a.took = time.Since(start) }()
	if err := a.addDistinct(ctx); err != nil {
		return nil, err
	}
	if err := a.merge(ctx); err != nil {
		a.out.Release()
		return nil, err
	}
	a.dev.setInput(a.plan.spec.ID, a.out)
	return a.out, nil
}

// setInput makes a space an input. Steps that read other inputs may run meanwhile, unless
// there are more inputs than the options said.
func (d *dev) setInput(id int, s *space) {
	for len(d.inputs) <= id {
		d.inputs = append(d.inputs, nil)
	}
	d.inputs[id] = s
}

// addDistinct adds the distinct values of each source.
func (a *aggregation) addDistinct(ctx context.Context) error {
	for i, d := range a.distinct {
		values, err := d.Space(ctx)
		if err != nil {
			return err
		}
		d.Release()
		a.lock.Lock()
		a.idle = append(a.idle[:0], a.groupers...)
		a.lock.Unlock()
		s := asSpace(values)
		ranges := s.ranges(a.dev.streams*8, 0)
		err = a.dev.parallel(ctx, len(ranges), func(st *stream, task int) error {
			return st.eachRows(ctx, s, ranges[task], func(r *rows) error { return st.group(ctx, r, a, i+1) })
		})
		s.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// mergedAtOnce is up to how many groups of all workers one of them merges.
const mergedAtOnce = 1 << 12

// merge makes the result of the groups and rows of all workers.
func (a *aggregation) merge(ctx context.Context) error {
	groups := 0
	for _, g := range a.groupers {
		groups += g.table.n
	}
	if !a.overflowed.Load() && (len(a.groupers) == 1 || groups <= mergedAtOnce || len(a.plan.keys) == 0) {
		return a.dev.parallel(ctx, 1, func(st *stream, _ int) error { return a.mergeAll(ctx, st) })
	}
	if err := a.dev.parallel(ctx, len(a.groupers), func(_ *stream, i int) error {
		a.groupers[i].sort()
		return nil
	}); err != nil {
		return err
	}
	return a.dev.parallel(ctx, fanOut, func(st *stream, p int) error { return a.mergePartition(ctx, st, p) })
}

// mergeAll merges all tables into the first.
func (a *aggregation) mergeAll(ctx context.Context, st *stream) error {
	m, err := a.merger(st)
	if err != nil {
		return err
	}
	defer a.put(m)
	if len(a.groupers) == 0 {
		if len(a.plan.keys) > 0 {
			return nil
		}
		if _, err := a.acquire(st); err != nil { // the group of no rows
			return err
		}
	}
	first := a.groupers[0]
	for _, g := range a.groupers[1:] {
		all := make([]uint32, g.table.n)
		for i := range all {
			all[i] = uint32(i + 1)
		}
		if err := first.absorb(&g.table, all); err != nil {
			return err
		}
	}
	return m.emit(ctx, st, &first.table)
}

// sort orders the groups of a worker's table by their partitions.
func (g *grouper) sort() {
	t := &g.table
	g.sorted, g.bounds = make([]uint32, t.n), make([]uint32, fanOut+1)
	parts := make([]uint8, t.n)
	for i := range parts {
		parts[i] = uint8(t.hashOf(i+1) >> (64 - fanBits))
		g.bounds[int(parts[i])+1]++
	}
	for p := range fanOut {
		g.bounds[p+1] += g.bounds[p]
	}
	next := [fanOut]uint32(g.bounds[:fanOut])
	for i, p := range parts {
		g.sorted[next[p]] = uint32(i + 1)
		next[p]++
	}
}

// absorb adds groups of another table to those of g.
func (g *grouper) absorb(o *groupTable, groups []uint32) error {
	chunk := g.plan.dev.chunk
	for at := 0; at < len(groups); at += chunk {
		from := groups[at:min(at+chunk, len(groups))]
		to := g.group[:len(from)]
		if len(g.plan.keys) == 0 {
			to[0] = 1
		} else {
			g.readGroups(o, from)
			if _, err := g.table.find(&g.keys, to, int(none)-1); err != nil {
				return err
			}
		}
		if err := g.table.merge(o, from, to); err != nil {
			return err
		}
	}
	return nil
}

// readGroups makes the keys of groups the chunk.
func (g *grouper) readGroups(o *groupTable, groups []uint32) {
	p, k := g.plan, &g.keys
	k.use(len(groups))
	for w := range k.words {
		pick(k.words[w], o.c64[w], groups)
	}
	if p.exact {
		k.tags = k.ownTags[:k.n]
		pick(k.tags, o.c32[0], groups)
	}
	for s := range k.spans {
		for i, group := range groups {
			k.spans[s][i] = o.span(int(group), s)
		}
	}
	for c := range k.carry {
		k.carry[c] = k.ownCarry[c][:k.n]
		pick(k.carry[c], o.c32[p.lengths+p.spans+c], groups)
	}
	g.hash()
}

// merger groups the rows of a partition, and writes its groups.
type merger struct {
	top    *grouper // of the partition
	writer groupWriter
}

func (a *aggregation) merger(st *stream) (*merger, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if n := len(a.mergers); n > 0 {
		m := a.mergers[n-1]
		a.mergers = a.mergers[:n-1]
		return m, nil
	}
	top, err := a.newGrouper(1)
	return &merger{top: top, writer: groupWriter{a: a}}, err
}

func (a *aggregation) put(m *merger) {
	a.lock.Lock()
	a.mergers = append(a.mergers, m)
	a.lock.Unlock()
}

func (a *aggregation) mergePartition(ctx context.Context, st *stream, p int) error {
	m, err := a.merger(st)
	if err != nil {
		return err
	}
	defer a.put(m)
	top := m.top
	if err := top.start(); err != nil {
		return err
	}
	for _, g := range a.groupers {
		if err := top.absorb(&g.table, g.sorted[g.bounds[p]:g.bounds[p+1]]); err != nil {
			return err
		}
	}
	var blocks []*rowBlock
	for _, g := range a.groupers {
		if g.overflow != nil {
			blocks = append(blocks, g.overflow.parts[p]...)
			g.overflow.parts[p] = nil
		}
	}
	return m.group(ctx, st, top, blocks)
}

// group groups the rows of a partition, whose table may have groups already, and
// frees them.
func (m *merger) group(ctx context.Context, st *stream, g *grouper, blocks []*rowBlock) error {
	for source := range g.plan.sources {
		for _, b := range blocks {
			if b.source != source {
				continue
			}
			if err := st.yield(ctx); err != nil {
				return err
			}
			if err := g.replay(b); err != nil {
				return err
			}
			b.release(g.plan.memory)
		}
	}
	if err := m.emit(ctx, st, &g.table); err != nil {
		return err
	}
	if g.overflow == nil {
		return nil
	}
	for p := range g.overflow.parts {
		blocks := g.overflow.parts[p]
		if len(blocks) == 0 {
			continue
		}
		g.overflow.parts[p] = nil
		if g.child == nil {
			var err error
			if g.child, err = g.a.newGrouper(g.level + 1); err != nil {
				return err
			}
		} else if err := g.child.start(); err != nil {
			return err
		}
		if err := m.group(ctx, st, g.child, blocks); err != nil {
			return err
		}
	}
	g.overflow = nil
	return nil
}

// emit writes all groups of a table.
func (m *merger) emit(ctx context.Context, st *stream, t *groupTable) error {
	for from := 1; from <= t.n; from += t.plan.dev.chunk {
		if err := st.yield(ctx); err != nil {
			return err
		}
		if err := m.writer.write(t, from, min(from+t.plan.dev.chunk, t.n+1)); err != nil {
			return err
		}
	}
	return nil
}

// Release frees the groups of workers and the rows that are left.
func (a *aggregation) Release() {
	for _, d := range a.distinct {
		d.Release()
	}
	for _, g := range a.groupers {
		g.release()
	}
	for _, m := range a.mergers {
		m.top.release()
	}
	a.groupers, a.idle, a.mergers = nil, nil, nil
}

func (g *grouper) release() {
	g.table.release()
	if g.child != nil {
		g.child.release()
	}
	if g.overflow == nil {
		return
	}
	for _, blocks := range g.overflow.parts {
		for _, b := range blocks {
			b.release(g.plan.memory)
		}
	}
}

// Report says what was done.
func (a *aggregation) Report() joincore.AggregateStats {
	s := joincore.AggregateStats{
		Strategy: "hash", RowsIn: a.rowsIn.Load(), Groups: a.groups.Load(), Bytes: a.plan.memory.Peak(),
		Time: time.Duration(a.clock.Load())/time.Duration(a.dev.streams) + a.took,
	}
	switch {
	case len(a.plan.keys) == 0:
		s.Strategy = "one group"
	case a.overflowed.Load():
		s.Strategy = "partitioned"
	}
	return s
}
