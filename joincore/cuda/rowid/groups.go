//go:build cuda

package rowid

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/program"
)

// Memory allocates device memory that lives longer than a step: what is freed may be
// used by steps that are queued later.
type Memory interface {
	Alloc(bytes int64) (driver.Ptr, error)
	Free(at driver.Ptr, bytes int64)
}

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
	q      *Queue
	spec   *GroupsSpec
	memory Memory
	layout program.Layout
	state  driver.Ptr // groupsState words
	kinds  driver.Ptr
	table  groupTable
	owned  []owned // state and kinds
	count  int64   // groups after the last launch
	rows   int64   // added so far
	added  int64   // rows of the last launch
	fresh  int64   // groups that it made
}

type owned struct {
	at    driver.Ptr
	bytes int64
}

// Words of the state of groups on the device.
const (
	stateCount = iota
	stateLeft
	stateFailed
	stateWords
)

// groupTable is a table with what lies in it.
type groupTable struct {
	at       driver.Ptr // its descriptor
	capacity int64
	special  driver.Ptr
	firsts   driver.Ptr
	parts    []owned
}

const (
	// mostGroupedRows bounds the rows of an aggregate: sums of 2^31 numbers of 32
	// bits do not overflow 64.
	mostGroupedRows = 1 << 31
	// firstRows and nextRows are those of the first two launches, which show how many
	// groups there are.
	firstRows, nextRows = 1 << 14, 1 << 22
)

// NewGroups makes an empty table.
func (q *Queue) NewGroups(ctx context.Context, spec *GroupsSpec, memory Memory) (*Groups, error) {
	g := &Groups{q: q, spec: spec, memory: memory, layout: spec.Layout()}
	if err := g.open(ctx); err != nil {
		g.Release()
		return nil, err
	}
	return g, nil
}

func (g *Groups) open(ctx context.Context) (err error) {
	if g.state, err = g.take(&g.owned, 8*stateWords); err != nil {
		return err
	}
	cells := make([]cellDescriptor, len(g.layout.Cells))
	for i, c := range g.layout.Cells {
		cells[i] = cellDescriptor{Kind: uint64(c.Kind), At: uint64(c.At), Local: uint64(c.Local)}
	}
	if g.kinds, err = g.take(&g.owned, int64(24*len(cells))); err != nil {
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
	g.table, err = g.newTable(ctx, slots)
	return err
}

// slotBytes returns the device memory of a slot.
func (g *Groups) slotBytes() int64 {
	return int64(8*g.spec.Words + 8*g.layout.Words + 4*g.spec.Inputs + 4)
}

// take allocates memory and notes it.
func (g *Groups) take(list *[]owned, bytes int64) (driver.Ptr, error) {
	at, err := g.memory.Alloc(bytes)
	if err == nil {
		*list = append(*list, owned{at, bytes})
	}
	return at, err
}

func (g *Groups) free(list *[]owned) {
	for _, o := range *list {
		g.memory.Free(o.at, o.bytes)
	}
	*list = nil
}

// newTable makes an empty table. It makes the count of groups 0.
func (g *Groups) newTable(ctx context.Context, capacity int64) (t groupTable, err error) {
	if capacity > mostGroupSlots {
		return t, fmt.Errorf("a table of %d groups: %w", capacity, joincore.ErrBudget)
	}
	t.capacity = capacity
	d := groupsDescriptor{
		Words: uint64(g.spec.Words), Capacity: uint64(capacity), Limit: uint64(groupsWithin(capacity)), Probes: mostProbes,
		Count:     uint64(g.state + 8*stateCount),
		CellWords: uint64(g.layout.Words), Kinds: uint64(g.kinds), CellCount: uint64(len(g.layout.Cells)), Inputs: uint64(g.spec.Inputs),
	}
	if g.spec.Collide {
		d.Collide, d.Probes = 1, uint64(capacity)
	}
	states := int64(0)
	if g.spec.Words > 1 {
		states = 4 * capacity
	}
	for _, part := range []struct {
		to    *uint64
		bytes int64
	}{
		{&d.Keys, 8 * int64(g.spec.Words) * capacity}, {&d.States, states}, {&d.Special, 8},
		{&d.Cells, 8 * int64(g.layout.Words) * (capacity + 2)}, {&d.Firsts, 4 * int64(g.spec.Inputs) * (capacity + 2)},
	} {
		at, err := g.take(&t.parts, max(part.bytes, 8))
		if err != nil {
			g.free(&t.parts)
			return t, err
		}
		*part.to = uint64(at)
	}
	t.special, t.firsts = driver.Ptr(d.Special), driver.Ptr(d.Firsts)
	if t.at, err = g.take(&t.parts, descriptorBytes); err == nil {
		err = g.q.fill(ctx, t.at, d)
	}
	if err == nil {
		err = g.launch("gj_clear_groups", capacity, uint64(t.at))
	}
	if err != nil {
		g.free(&t.parts)
	}
	return t, err
}

// mostProbes is how many slots are tried for a group before a table is full.
const mostProbes = 256

// launch starts a simple kernel of this module.
func (g *Groups) launch(name string, items int64, args ...uint64) error {
	k, err := g.q.kernels.groups.Kernel(name)
	if err != nil {
		return err
	}
	return g.q.start(k, items/rowsPerBlock+1, args...)
}

// grow moves the groups to a larger table.
func (g *Groups) grow(ctx context.Context, capacity int64) error {
	t, err := g.newTable(ctx, capacity)
	if err != nil {
		return err
	}
	return g.moveTo(t)
}

// moveTo makes an empty table that of the groups.
func (g *Groups) moveTo(t groupTable) error {
	// The count was made 0, and all groups are counted again.
	if err := g.launch("gj_move_groups", g.table.capacity, uint64(g.table.at), uint64(t.at)); err != nil {
		g.free(&t.parts)
		return err
	}
	g.free(&g.table.parts)
	g.table = t
	return nil
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
	if s.Rows == 0 {
		return nil
	}
	q := g.q
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	p, columns, err := compile(&s, nil, g.spec.Parameters, g.spec.Compile)
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
	job := aggregateDescriptor{
		Program: d, LeftCount: uint64(g.state + 8*stateLeft), Origins: uint64(from),
		LocalWords: uint64(g.layout.LocalWords), LocalWides: uint64(g.layout.LocalWides), Copies: 1,
	}
	if len(g.spec.Keys) == 0 {
		job.NoKeys = 1
	}
	for _, c := range columns {
		q.cost.Bytes += s.Rows * int64(c.Width)
	}
	for first := int64(0); first < s.Rows; {
		n := min(g.launchRows(), s.Rows-first)
		if err := g.addRows(ctx, job, first, n); err != nil {
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
	case g.added == 0:
		return firstRows
	case g.added < nextRows:
		return min(nextRows, most)
	}
	return min(1<<28, most)
}

// addRows adds rows [first, first+n), and those for which the table was too small once
// it is larger.
func (g *Groups) addRows(ctx context.Context, job aggregateDescriptor, first, n int64) error {
	q := g.q
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	before := g.count
	if err := g.prepareFor(ctx, n); err != nil {
		return err
	}
	var lists [2]driver.Ptr
	if len(g.spec.Keys) > 0 {
		for i := range lists {
			var err error
			if lists[i], err = q.arena.Take(4 * n); err != nil {
				return err
			}
		}
	}
	job.First, job.Rows, job.Left = uint64(first), uint64(n), uint64(lists[0])
	for turn := 1; ; turn++ {
		job.Groups = uint64(g.table.at)
		if err := g.aggregate(ctx, job); err != nil {
			return err
		}
		state, err := q.read(ctx, g.state, stateWords)
		if err != nil {
			return err
		}
		if state[stateFailed] != 0 {
			return joincore.ErrArithmetic
		}
		g.count = int64(state[stateCount])
		left := int64(state[stateLeft])
		if left == 0 {
			break
		}
		if err := g.grow(ctx, nextSlots(g.table.capacity, g.count+left, g.slotBytes(), q.arena.Free())); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		job.Chosen, job.Rows, job.Left = uint64(lists[(turn+1)%2]), uint64(left), uint64(lists[turn%2])
	}
	g.added, g.fresh = n, g.count-before
	return nil
}

// prepareFor enlarges the table before n rows that bring as many new groups as the
// last ones did, if that is many. Where memory is short they may do without.
func (g *Groups) prepareFor(ctx context.Context, n int64) error {
	if g.added == 0 || g.fresh < g.added/64 {
		return nil
	}
	expected := g.count + min(int64(float64(g.fresh)/float64(g.added)*float64(n)), max(4*g.spec.Expected, 64*g.count))
	slots := slotsWithin(expected, g.slotBytes(), g.q.arena.Free())
	if slots <= g.table.capacity {
		return nil
	}
	t, err := g.newTable(ctx, slots)
	if errors.Is(err, joincore.ErrBudget) {
		return nil
	}
	if err != nil {
		return err
	}
	return g.moveTo(t)
}

// aggregate launches the kernel.
func (g *Groups) aggregate(ctx context.Context, job aggregateDescriptor) error {
	q := g.q
	name := "gj_aggregate_word"
	if g.spec.Words > 1 {
		name = "gj_aggregate_words"
	}
	k, err := q.kernels.groups.Kernel(name)
	if err != nil {
		return err
	}
	slots := int64(job.Program.Slots) * int64(k.Fan)
	if g.spec.Words > 1 {
		slots += int64(g.spec.Words) * int64(k.Fan)
	}
	local := g.localTable(slots, int64(k.Blocks), int64(q.kernels.context.Info().SharedOptin))
	if local.shared > int64(q.kernels.context.Info().SharedOptin) {
		return fmt.Errorf("expressions that need %d bytes of shared memory: %w", local.shared, joincore.ErrUnsupported)
	}
	job.LocalCapacity, job.Copies = uint64(local.capacity), uint64(local.copies)
	if err := q.stream.Memset(g.state+8*stateLeft, 0, 8); err != nil {
		return err
	}
	at, err := q.upload(ctx, job)
	if err != nil {
		return err
	}
	q.cost.Launches++
	grid := min(tiles(int64(job.Rows), k.Rows), local.blocks*int64(q.kernels.context.Info().SMs))
	return k.LaunchShared(q.stream, int(max(grid, 1)), int(local.shared), uint64(at))
}

// localTable is the shared memory of a block.
type localTable struct {
	capacity, copies int64
	shared           int64 // bytes, with the program's slots
	blocks           int64 // that a multiprocessor holds
}

// reservedShared is the shared memory of a block that the system takes.
const reservedShared = 1 << 10

// localTable chooses the table of a block: with twice the slots that the groups known
// so far need, or none if these are too many. Few groups get copies.
func (g *Groups) localTable(slots, blocks, shared int64) localTable {
	groups := g.count
	if g.added == 0 {
		groups = 256
	}
	bytes := func(capacity, copies int64) int64 {
		n := 8*int64(g.spec.Words)*capacity + (capacity+2)*copies*int64(8*g.layout.LocalWides+4*g.layout.LocalWords) + 4*(capacity+2)
		if g.spec.Words > 1 {
			n += 4 * capacity
		}
		return (n + 15) / 16 * 16
	}
	for ; blocks > 1 && slots+reservedShared > shared/blocks/2; blocks-- {
	}
	space := shared/blocks - reservedShared - slots
	capacity := max(nextPower(2*groups), 16)
	if len(g.spec.Keys) == 0 {
		capacity = 1
	}
	if bytes(capacity, 1) > space {
		return localTable{capacity: 0, copies: 1, shared: slots, blocks: blocks}
	}
	copies := int64(1)
	for copies < 32 && capacity*copies < 1<<10 && bytes(capacity, 2*copies) <= space {
		copies *= 2
	}
	return localTable{capacity, copies, slots + bytes(capacity, copies), blocks}
}

// GroupRows is what groups are made of in the end.
type GroupRows struct {
	Rows    int64
	Columns []Column     // of keys and functions
	Firsts  []driver.Ptr // for each input, uint32 a group: its row, or None
}

// Finish returns the groups as columns in memory of the caller's. It waits for the
// device. ErrArithmetic: a sum is out of range.
func (g *Groups) Finish(ctx context.Context, memory Memory) (*GroupRows, error) {
	q := g.q
	if len(g.spec.Keys) == 0 && g.count == 0 { // the group of no rows
		if err := errors.Join(q.write(ctx, g.state, bytesOf(1)), q.write(ctx, g.table.special, bytesOf(1))); err != nil {
			return nil, err
		}
		if err := q.stream.Memset(g.table.firsts, 0xff, 4*int64(g.spec.Inputs)*(g.table.capacity+2)); err != nil {
			return nil, err
		}
		g.count = 1
	}
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	list, err := q.arena.Take(4 * max(g.count, 1))
	if err != nil {
		return nil, err
	}
	if err := g.list(list); err != nil {
		return nil, err
	}
	out := &GroupRows{Rows: g.count}
	var made []owned
	take := func(bytes int64) (driver.Ptr, error) {
		at, err := memory.Alloc(max(bytes, 8))
		if err == nil {
			made = append(made, owned{at, max(bytes, 8)})
		}
		return at, err
	}
	fill := func(s program.Source, c *Column) error {
		var err error
		if c.Values, err = take(int64(c.Width) * g.count); err != nil || g.count == 0 {
			return err
		}
		at, err := q.upload(ctx, resultDescriptor{
			Groups: uint64(g.table.at), List: uint64(list), Rows: uint64(g.count), Kind: uint64(s.Kind), Width: uint64(c.Width),
			Word: uint64(s.Word), Shift: uint64(s.Shift), Digits: uint64(s.Digits), Null: s.Null,
			Out: uint64(c.Values), Validity: uint64(c.Validity), Failed: uint64(g.state + 8*stateFailed),
		})
		if err != nil {
			return err
		}
		q.cost.Bytes += g.count * int64(c.Width)
		return g.launch("gj_make_result", g.count, uint64(at))
	}
	err = func() error {
		for _, s := range g.spec.Results() {
			c := Column{Width: s.Column.Width}
			if s.Kind != program.CountOf {
				var err error
				if c.Validity, err = take(g.count); err != nil {
					return err
				}
			}
			if err := fill(s, &c); err != nil {
				return err
			}
			out.Columns = append(out.Columns, c)
		}
		for i := range g.spec.Inputs {
			c := Column{Width: 4}
			if err := fill(program.Source{Kind: program.RowOf, Word: i}, &c); err != nil {
				return err
			}
			out.Firsts = append(out.Firsts, c.Values)
		}
		state, err := q.read(ctx, g.state, stateWords)
		if err == nil && state[stateFailed] != 0 {
			err = joincore.ErrArithmetic
		}
		return err
	}()
	if err != nil {
		for _, o := range made {
			memory.Free(o.at, o.bytes)
		}
		return nil, err
	}
	return out, nil
}

// list writes the slots of all groups.
func (g *Groups) list(to driver.Ptr) error {
	q := g.q
	k, err := q.kernels.groups.Kernel("gj_select_groups")
	if err != nil {
		return err
	}
	slots := g.table.capacity + 2
	bytes := 8 * (1 + tiles(slots, k.Rows))
	scan, err := q.arena.Take(bytes + 8)
	if err != nil {
		return err
	}
	if err := q.stream.Memset(scan, 0, bytes+8); err != nil {
		return err
	}
	return q.start(k, tiles(slots, k.Rows), uint64(slots), uint64(scan), uint64(to), uint64(scan)+uint64(bytes), uint64(g.table.at))
}

// Count returns how many groups there are.
func (g *Groups) Count() int64 { return g.count }

// Rows returns how many rows were added.
func (g *Groups) Rows() int64 { return g.rows }

// Bytes returns the device memory of the table.
func (g *Groups) Bytes() int64 {
	n := int64(0)
	for _, o := range g.table.parts {
		n += o.bytes
	}
	return n
}

// Release frees the table.
func (g *Groups) Release() {
	g.free(&g.table.parts)
	g.free(&g.owned)
}
