//go:build cuda

package rowid

import (
	"context"
	"encoding/binary"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/program"
)

// GroupsSpec says how to group rows.
type GroupsSpec struct {
	*program.Groups
	Parameters []joincore.Parameter
	Inputs     int   // of which a row is kept for each group
	Expected   int64 // groups; 0: unknown
	Collide    bool  // makes hashes collide
	Slots      int64 // of the first table; 0: chosen
}

// Origin says where the rows of an input are, for the rows of a space.
type Origin struct {
	Positions driver.Ptr // uint32 by row of the space: row of the view or None; 0: the same row
	Numbers   driver.Ptr // uint32 by row of the view: row of the input; 0: First and following
	First     int64
}

// Groups are rows in groups, in a hash table in device memory.
type Groups struct {
	q        *Queue
	spec     *GroupsSpec
	memory   Memory
	layout   program.Layout
	state    driver.Ptr // groupsState words
	kinds    driver.Ptr
	table    groupTable
	owned    Owned // state and kinds
	count    int64 // groups after the last launch
	rows     int64 // added so far
	sample   sample
	distinct []*Groups // of each of the plan's
}

// Words of the state of groups on the device.
const (
	stateCount = iota
	stateLeft
	stateFailed
	stateWords
)

// mostGroupedRows bounds the rows of an aggregate: sums of 2^31 numbers of 32 bits do not
// overflow 64.
const mostGroupedRows = 1 << 31

// NewGroups makes an empty table.
func (q *Queue) NewGroups(ctx context.Context, spec *GroupsSpec, memory Memory) (*Groups, error) {
	g := &Groups{q: q, spec: spec, memory: memory, layout: spec.Layout(), owned: Owned{Memory: memory}}
	if err := g.open(ctx); err != nil {
		g.Release()
		return nil, err
	}
	return g, nil
}

func (g *Groups) open(ctx context.Context) (err error) {
	if g.state, err = g.owned.Alloc(8 * stateWords); err != nil {
		return err
	}
	cells := make([]cellDescriptor, len(g.layout.Cells))
	for i, c := range g.layout.Cells {
		cells[i] = cellDescriptor{Kind: uint64(c.Kind), At: uint64(c.At), Local: uint64(c.Local)}
	}
	if g.kinds, err = g.owned.Alloc(int64(24 * len(cells))); err != nil {
		return err
	}
	if err := g.q.fill(ctx, g.kinds, cells); err != nil {
		return err
	}
	if err := g.q.stream.Memset(g.state, 0, 8*stateWords); err != nil {
		return err
	}
	slots := int64(1)
	switch {
	case len(g.spec.Keys) == 0:
	case g.spec.Slots > 0:
		slots = nextPower(g.spec.Slots)
	default:
		slots = firstSlots(g.spec.Expected, g.slotBytes(), g.q.arena.Free())
	}
	if g.table, err = g.newTable(ctx, slots); err != nil {
		return err
	}
	return g.openDistinct(ctx)
}

// Add adds the rows of a space. origins are those of the inputs of which a row is kept.
// It returns ErrArithmetic if an expression is out of range.
func (g *Groups) Add(ctx context.Context, s Side, origins []Origin) error {
	if err := s.check(); err != nil {
		return err
	}
	if g.rows += s.Rows; g.rows > mostGroupedRows {
		return fmt.Errorf("an aggregate of %d rows: %w", g.rows, joincore.ErrUnsupported)
	}
	if err := g.add(ctx, s, g.spec.Compile, origins, g.addRows); err != nil {
		return err
	}
	for _, d := range g.distinct {
		if err := d.Add(ctx, s, nil); err != nil {
			return err
		}
	}
	return nil
}

// add has rows of a space added, as many at a time as a launch takes.
func (g *Groups) add(ctx context.Context, s Side, compiled func(program.Rows) (*program.Program, error), origins []Origin,
	launch func(ctx context.Context, l groupLaunch, n int64) error) error {
	if s.Rows == 0 {
		return nil
	}
	q := g.q
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	p, columns, err := compile(&s, nil, g.spec.Parameters, compiled)
	if err != nil {
		return err
	}
	d, err := q.programOf(ctx, p, columns, g.state+8*stateFailed)
	if err != nil {
		return err
	}
	var list []originDescriptor
	for _, o := range origins {
		list = append(list, originDescriptor{uint64(o.Positions), uint64(o.Numbers), uint64(o.First)})
	}
	from, err := q.upload(ctx, append(list, originDescriptor{}))
	if err != nil {
		return err
	}
	variant := g.groupVariant(p)
	k, err := q.kernels.groups.Kernel("gj_aggregate_" + variant)
	if err != nil {
		return err
	}
	l := groupLaunch{variant: variant, kernel: k, program: p, columns: columns, job: aggregateDescriptor{
		Program: d, Filter: uint64(p.Filter), FilterColumns: uint64(p.FilterColumns), LeftCount: uint64(g.state + 8*stateLeft), Origins: uint64(from),
		LocalWords: uint64(g.layout.LocalWords), LocalWides: uint64(g.layout.LocalWides), NoKeys: wordOf(len(g.spec.Keys) == 0),
	}}
	for _, c := range columns {
		q.cost.Bytes += s.Rows * int64(c.Width)
	}
	for first := int64(0); first < s.Rows; {
		n := min(g.launchRows(), s.Rows-first)
		l.job.First, l.job.Rows = uint64(first), uint64(n)
		if err := launch(ctx, l, n); err != nil {
			return err
		}
		first += n
	}
	return nil
}

// launchRows returns how many rows the next launch takes: few as long as the number
// of groups is not known.
func (g *Groups) launchRows() int64 {
	most := max(g.q.arena.Free()/16/4, firstRows)
	switch {
	case len(g.spec.Keys) == 0:
		return mostGroupedRows
	case g.sample.rows == 0:
		return firstRows
	case g.sample.rows < nextRows:
		return min(nextRows, most)
	}
	return min(1<<28, most)
}

// addRows adds n rows, and those for which the table was too small once it is larger.
func (g *Groups) addRows(ctx context.Context, l groupLaunch, n int64) error {
	if err := g.prepareFor(ctx, n); err != nil {
		return err
	}
	var s scatterPlan
	if g.sample.rows > 0 {
		s = g.scatterPlan(&l, n, g.sample.expected(n), g.sample.passed)
	}
	if err := g.launchRowsOf(ctx, l, n, s, g.known()); err != nil {
		return err
	}
	g.sample.add(n, g.count)
	return nil
}

// launchRowsOf adds n rows, scattered or not, which should meet some number of groups.
func (g *Groups) launchRowsOf(ctx context.Context, l groupLaunch, n int64, s scatterPlan, groups int64) error {
	q := g.q
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	var lists [2]driver.Ptr
	if len(g.spec.Keys) > 0 {
		var err error
		for i := range lists {
			if lists[i], err = q.arena.Take(4 * n); err != nil {
				return err
			}
		}
	}
	if s.partitions > 0 {
		return g.aggregateScattered(ctx, l, s, lists)
	}
	return g.aggregateAll(ctx, l, groups, lists)
}

// scatterPlan decides whether n rows are scattered, of which a fraction passes and has
// some number of groups.
func (g *Groups) scatterPlan(l *groupLaunch, n, groups int64, passed float64) scatterPlan {
	if len(g.spec.Keys) == 0 || g.spec.Collide {
		return scatterPlan{}
	}
	info := g.q.kernels.context.Info()
	b, _ := planBlock(l.needs(g), int64(info.SharedOptin), mostNumbered, mostNumbered)
	return planScatter(n, groups, passed, b.groups-groupsWithoutKey, g.slotBytes(), info.L2, g.q.arena.Free())
}

// Count returns how many groups there are.
func (g *Groups) Count() int64 { return g.count }

// Rows returns how many rows were added.
func (g *Groups) Rows() int64 { return g.rows }

// Release frees the table.
func (g *Groups) Release() {
	for _, d := range g.distinct {
		d.Release()
	}
	g.table.parts.Release()
	g.owned.Release()
}

// groupVariant names the kernel for a program: its values have 64 or 128 bits, keys have
// one or several words.
func (g *Groups) groupVariant(p *program.Program) string {
	values, keys := "narrow", "word"
	if p.Wide {
		values = "wide"
	}
	if g.spec.Words > 1 {
		keys = "words"
	}
	return values + "_" + keys
}

// groupLaunch is a kernel with its program and descriptor.
type groupLaunch struct {
	variant string
	kernel  *driver.Kernel // that interprets the program
	program *program.Program
	columns []ColumnDescriptor // that it reads
	job     aggregateDescriptor
}

// needs says what a block needs shared memory for.
func (l *groupLaunch) needs(g *Groups) *blockNeeds {
	n := &blockNeeds{
		threads: int64(l.kernel.Threads), header: int64(l.kernel.Shared), tile: int64(l.kernel.Rows), slotBytes: int64(l.kernel.Fan),
		program: int64(8*(len(l.program.Code)+1)) + int64(binary.Size(ColumnDescriptor{}))*int64(len(l.program.Columns)),
		slots:   int64(l.program.Slots), filter: l.job.Filter > 0, noKeys: l.job.NoKeys == 1, words: int64(g.spec.Words),
		cellWords: int64(g.layout.LocalWords), cellWides: int64(g.layout.LocalWides),
	}
	if g.spec.Words > 1 {
		n.slots += int64(g.spec.Words)
	}
	return n
}

// aggregate launches a kernel, of which a block's table is to hold the given groups, and
// returns how many rows are left.
func (g *Groups) aggregate(ctx context.Context, l groupLaunch, groups int64) (left int64, err error) {
	q, info := g.q, g.q.kernels.context.Info()
	rows := int64(l.job.Rows)
	if k, release := q.kernels.specialisedFor(&l, g.spec.Words); k != nil {
		defer release()
		l.kernel = k
	}
	b, ok := planBlock(l.needs(g), int64(info.SharedOptin), groups, rows/int64(info.SMs))
	if !ok {
		return 0, fmt.Errorf("expressions that need %d bytes of shared memory: %w", b.shared, joincore.ErrUnsupported)
	}
	if l.job.Mode == groupScatter { // the rows of partitions are counted in place of a table
		b.shared = b.table + 8*int64(l.job.Partitions)
	}
	job := l.job
	job.Groups, job.Staged = uint64(g.table.at), wordOf(b.staged)
	job.PassedAt, job.SlotsAt, job.LocalAt = uint64(b.passed), uint64(b.slots), uint64(b.table)
	job.LocalCapacity, job.LocalGroups, job.LocalProbes, job.Copies = uint64(b.capacity), uint64(b.groups), uint64(b.probes), uint64(b.copies)
	if err := q.stream.Memset(g.state+8*stateLeft, 0, 8); err != nil {
		return 0, err
	}
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	at, err := q.upload(ctx, job)
	if err != nil {
		return 0, err
	}
	q.cost.Launches++
	grid := min(tiles(rows, l.kernel.Rows*int(b.threads)/32), int64(info.SMs))
	if err := l.kernel.LaunchThreads(q.stream, int(max(grid, 1)), int(b.threads), int(b.shared), uint64(at)); err != nil {
		return 0, err
	}
	state, err := q.read(ctx, g.state, stateWords)
	if err != nil {
		return 0, err
	}
	if state[stateFailed] != 0 {
		return 0, g.outOfRange()
	}
	g.count = int64(state[stateCount])
	return int64(state[stateLeft]), nil
}

// outOfRange returns the error of a program that has failed.
func (g *Groups) outOfRange() error {
	if g.spec.Narrowed {
		return fmt.Errorf("an expression out of range, or the least, the greatest or a variance of values beyond 8 bytes: %w", joincore.ErrUnsupported)
	}
	return joincore.ErrArithmetic
}

// known returns how many groups the next launch should expect to meet.
func (g *Groups) known() int64 {
	if g.sample.rows == 0 {
		return unknownGroups
	}
	return g.count
}

// aggregateAll launches a kernel, and again for rows that are left, with a larger table.
// The launch has the first of the lists for them.
func (g *Groups) aggregateAll(ctx context.Context, l groupLaunch, groups int64, lists [2]driver.Ptr) error {
	for {
		l.job.Left = uint64(lists[0])
		left, err := g.aggregate(ctx, l, groups)
		if err != nil || left == 0 {
			return err
		}
		if err := g.grow(ctx, nextSlots(g.table.capacity, g.count+left, g.slotBytes(), g.q.arena.Free())); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		l.job.Mode, l.job.Begin, l.job.Filter = groupDirectly, 0, uint64(l.program.Filter)
		l.job.Chosen, l.job.Rows = uint64(lists[0]), uint64(left)
		groups, lists = g.known(), [2]driver.Ptr{lists[1], lists[0]}
	}
}

// aggregateScattered scatters rows to partitions, of which each is then grouped by a
// block. Rows of partitions that are full are grouped first, like those of few groups.
func (g *Groups) aggregateScattered(ctx context.Context, l groupLaunch, s scatterPlan, lists [2]driver.Ptr) error {
	q := g.q
	counts, err := q.arena.Take(4 * countsApart * s.partitions)
	if err != nil {
		return err
	}
	rows, err := q.arena.Take(4 * s.partitions * s.capacity)
	if err != nil {
		return err
	}
	if err := q.stream.Memset(counts, 0, 4*countsApart*s.partitions); err != nil {
		return err
	}
	scatter := l
	scatter.job.Mode, scatter.job.Left = groupScatter, uint64(lists[0])
	scatter.job.Partitions, scatter.job.PartitionCapacity = uint64(s.partitions), uint64(s.capacity)
	scatter.job.PartitionRows, scatter.job.PartitionCounts = uint64(rows), uint64(counts)
	scatter.job.Program.Length, scatter.job.Program.ColumnCount = uint64(l.program.Grouped), uint64(l.program.GroupedColumns)
	left, err := g.aggregate(ctx, scatter, 0)
	if err != nil {
		return err
	}
	if left > 0 {
		direct := l
		direct.job.Chosen, direct.job.Rows = uint64(lists[0]), uint64(left)
		if err := g.aggregateAll(ctx, direct, g.known(), [2]driver.Ptr{lists[1], lists[0]}); err != nil {
			return err
		}
	}
	gather := scatter
	gather.job.Mode, gather.job.Program = groupGather, l.job.Program
	gather.job.Begin, gather.job.Filter = l.job.Filter, 0
	return g.aggregateAll(ctx, gather, s.groups, lists)
}

// unknownGroups is how many groups the first block's tables are made for.
const unknownGroups = 256
