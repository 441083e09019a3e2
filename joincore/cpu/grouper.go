package cpu

import (
	"context"
	"math"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// grouper groups the rows of one worker, or those of one partition. It has a
// table of its own. Where that is full, rows of groups that are not in it are
// partitioned by their hash, and grouped later, a partition at a time.
type grouper struct {
	plan     *groupPlan
	a        *aggregation
	st       *stream // on which it works now
	level    uint    // how many times its rows were partitioned
	table    groupTable
	array    groupArray
	overflow *overflow // nil: the table has taken all rows

	keys      keyChunk
	arguments []argumentChunk
	vectors   []*vector // of the parts of keys
	memo      memo
	nulls     []uint8
	group     []uint32 // of each row; without keys always 1
	update    updateScratch
	missing   []uint32
	only      []*filter
	distinct  []*grouper // of the further sources
	sample    sample
	seen      int      // rows of its own source
	weighed   bool     // whether the table's limit was reconsidered
	child     *grouper // of a partition of its own
	sorted    []uint32 // groups in the order of their partitions
	bounds    []uint32 // where each of these begins
}

func (a *aggregation) newGrouper(level uint) (*grouper, error) {
	p, n := a.plan, a.plan.dev.chunk
	g := &grouper{
		plan: p, a: a, level: level, table: groupTable{plan: p},
		arguments: make([]argumentChunk, len(p.arguments)), vectors: make([]*vector, len(p.keys)),
		nulls: make([]uint8, n), group: make([]uint32, n), update: updateScratch{masked: make([]uint32, n)}, missing: make([]uint32, n),
	}
	if level == 0 {
		g.array = newGroupArray(p)
		g.memo = newMemo(p.shared, n)
		for i := range g.vectors {
			g.vectors[i] = newVector(n)
		}
		for i := range g.arguments {
			g.arguments[i].vector = newVector(n)
		}
	}
	if len(p.keys) == 0 { // all rows are of one group
		for i := range g.group {
			g.group[i] = 1
		}
	}
	g.keys.init(p)
	return g, g.start()
}

// start empties the table.
func (g *grouper) start() error {
	limit := g.plan.local
	switch {
	case g.level >= deepest:
		limit = int(none) - 1
	case g.level > 0:
		limit = g.plan.inParts
	}
	return g.table.start(limit)
}

// Group adds rows to the groups of an aggregation.
func (st *stream) Group(ctx context.Context, r device.Rows, a device.Aggregation) error {
	to := a.(*aggregation)
	start := time.Now()
	defer func() { to.clock.Add(int64(time.Since(start))) }()
	in := r.(*rows)
	to.rowsIn.Add(int64(in.n))
	return st.group(ctx, in, to, 0)
}

func (st *stream) group(ctx context.Context, r *rows, a *aggregation, source int) error {
	g := st.groupers[a]
	if g == nil {
		var err error
		if g, err = a.acquire(st); err != nil {
			return err
		}
		if st.groupers == nil {
			st.groupers = map[*aggregation]*grouper{}
		}
		st.groupers[a] = g
	}
	return g.push(ctx, r, source)
}

// push adds the rows of a source.
func (g *grouper) push(ctx context.Context, r *rows, source int) error {
	for _, only := range g.only {
		out, count, err := only.Apply(r)
		if err != nil {
			return err
		}
		if n, err := count.Wait(ctx); err != nil || n == 0 {
			return err
		}
		r = out.(*rows)
	}
	s := &g.plan.sources[source]
	if source == 0 {
		g.seen += r.n
		for _, d := range g.distinct {
			if err := d.push(ctx, r, 0); err != nil {
				return err
			}
		}
	}
	if err := g.loadArguments(r, s); err != nil {
		return err
	}
	if source == 0 {
		group := g.group[:r.n]
		if known, err := g.array.group(g, r, s, group); err != nil {
			return err
		} else if known {
			return g.table.update(s, g.arguments, group, &g.update)
		}
		g.loadCarry(r)
	}
	if err := g.load(r, s); err != nil {
		return err
	}
	return g.add(s, source)
}

// loadArguments evaluates the arguments of a source.
func (g *grouper) loadArguments(r *rows, s *source) error {
	g.memo.begin(r)
	g.st.memo = &g.memo
	defer func() { g.st.memo = nil }()
	for _, a := range s.arguments {
		if err := g.loadArgument(r, &g.plan.arguments[a], &g.arguments[a]); err != nil {
			return err
		}
	}
	return nil
}

// loadArgument evaluates an argument.
func (g *grouper) loadArgument(r *rows, a *argument, c *argumentChunk) error {
	c.skip, c.high = nil, nil
	if c.v = g.inPlace(r, a); c.v != nil {
		return nil
	}
	if a.value != nil {
		v, err := g.evalFiltered(r, a, c.vector)
		if err != nil {
			return err
		}
		c.skip = v.isNull()
		switch {
		case a.kind.Bytes:
			if c.spans = v.strings(r.n); c.skip != nil {
				c.dropNulls()
			}
		default:
			c.v = view[uint64](v.lo[:r.n])
			if v.wide {
				c.high = view[uint64](v.hi[:r.n])
			}
		}
	}
	if a.filter == nil {
		return nil
	}
	truth := g.st.takeTruth()
	defer g.st.drop(0, 1, 0)
	if err := g.condition(r, a.filter, truth); err != nil {
		return err
	}
	if c.ownSkip == nil {
		c.ownSkip = make([]uint8, g.plan.dev.chunk)
	}
	skip := c.ownSkip[:r.n]
	for i := range skip {
		skip[i] = uint8(^truth.yes[i/64] >> (i % 64) & 1)
	}
	for i, x := range c.skip {
		skip[i] |= x
	}
	c.skip = skip
	return nil
}

// inPlace returns the values of an argument that is a column as they lie in memory; nil: it has
// to be evaluated.
func (g *grouper) inPlace(r *rows, a *argument) []uint64 {
	if a.filter != nil || a.kind.Bytes {
		return nil
	}
	switch v := a.compiled.(type) {
	case *columnValue:
		return v.inPlace(g.st, r)
	case *decimalValue:
		if ints := v.inPlace(g.st, r); !slices.Contains(ints, notDecimal) {
			return ints
		}
	}
	return nil
}

// evalFiltered evaluates an argument, in v or in the memo. Where that may fail,
// it leaves out the rows that the filter drops, as SQL does; these are NULL.
func (g *grouper) evalFiltered(r *rows, a *argument, v *vector) (*vector, error) {
	if a.filter == nil || !a.fails {
		if c, ok := a.compiled.(*shared); ok {
			return c.once(g.st, r)
		}
		return v, g.eval(r, &a.typedValue, v)
	}
	return v, g.evalPassing(r, a, v)
}

// evalPassing evaluates an argument for the rows that pass its filter.
func (g *grouper) evalPassing(r *rows, a *argument, v *vector) error {
	truth := g.st.takeTruth()
	defer g.st.drop(0, 1, 0)
	if err := g.condition(r, a.filter, truth); err != nil {
		return err
	}
	v.allNull(r.n)
	passing := g.st.takeSubset(r, truth.yes)
	defer g.st.drop(0, 0, 1)
	if len(passing.sel) == 0 {
		return nil
	}
	some := g.st.takeVector()
	defer g.st.drop(1, 0, 0)
	if err := g.eval(passing.rows, &a.typedValue, some); err != nil {
		return err
	}
	v.put(passing.sel, some)
	return nil
}

// dropNulls makes the bytes of NULLs none: they may be anything.
func (c *argumentChunk) dropNulls() {
	for i, x := range c.skip {
		if x != 0 {
			c.spans[i] = nil
		}
	}
}

// add groups the rows whose keys and arguments are loaded.
func (g *grouper) add(s *source, source int) error {
	n := g.keys.n
	group := g.group[:n]
	if len(g.plan.keys) == 0 {
		return g.table.update(s, g.arguments, group, &g.update)
	}
	if g.sample.passing(g) {
		return g.partition(source, nil)
	}
	limit := g.table.limit
	if source > 0 { // a group begins with a row of the aggregate's own
		limit = 0
	}
	missed, err := g.table.find(&g.keys, group, limit)
	if err != nil {
		return err
	}
	g.sample.add(n, missed)
	g.weigh()
	if missed < n {
		if err := g.table.update(s, g.arguments, group, &g.update); err != nil {
			return err
		}
	}
	if missed == 0 {
		return nil
	}
	missing := g.missing[:0]
	for i, x := range group {
		if x == 0 {
			missing = append(missing, uint32(i))
		}
	}
	return g.partition(source, missing)
}

// weigh stops adding groups to the table of one of several workers if there seem to
// be many more than it takes: it would soon find few of the rows' groups, and all of
// its own have to be merged with those of the other workers.
//
// Where rows have their groups by chance, r rows of g equally frequent groups have
// g (1 - exp(-r/g)) of them. A table that has as many after its first rows as if there
// were manyGroups times those that it takes has too many. Where groups follow each
// other, or some are frequent, it has fewer, and goes on.
func (g *grouper) weigh() {
	t := &g.table
	if g.weighed || g.level > 0 || g.plan.dev.streams == 1 || t.n < t.limit/4 {
		return
	}
	g.weighed = true
	many := manyGroups * float64(t.limit)
	if float64(t.n) > many*(1-math.Exp(-float64(g.seen)/many)) {
		t.limit = t.n
	}
}

// manyGroups is how many times the groups that a table takes are too many for it.
// With as many, a row in three is not of a group in a full table.
const manyGroups = 1.5

// sample decides whether a worker's table that is full is worth looking into:
// where many of the rows do not have their group in it, all are partitioned.
type sample struct {
	rows, missed int
	pass         int // chunks to be partitioned without a look
}

const (
	sampleRows = 1 << 15
	passChunks = 64
)

// passing says that the rows of the next chunk need not be looked for. Rows of a
// partition always are: its groups are complete when its table is.
func (s *sample) passing(g *grouper) bool {
	if s.pass == 0 || g.level > 0 {
		return false
	}
	s.pass--
	return true
}

func (s *sample) add(rows, missed int) {
	s.rows += rows
	s.missed += missed
	if s.rows < sampleRows {
		return
	}
	if s.missed > s.rows/3 {
		s.pass = passChunks
	}
	s.rows, s.missed = 0, 0
}

// eval evaluates a value for the rows of a chunk.
func (g *grouper) eval(r *rows, o *typedValue, v *vector) error {
	return o.compiled.eval(g.st, r, v)
}

// ints evaluates an integer of at most 8 bytes. null is nil where no row is
// NULL.
func (g *grouper) ints(r *rows, o *typedValue, v *vector) (ints []uint64, null []uint8, err error) {
	if err := g.eval(r, o, v); err != nil {
		return nil, nil, err
	}
	return view[uint64](v.lo[:r.n]), v.isNull(), nil
}

// isNull returns which values are NULL; nil: none is.
func (v *vector) isNull() []uint8 {
	if !v.nullable {
		return nil
	}
	return v.nulls[:v.n]
}

// condition evaluates a condition.
func (g *grouper) condition(r *rows, e joincore.Expr, out *truths) error {
	return g.st.dev.condition(e, g.plan.spec.Parameters).eval(g.st, r, out)
}
