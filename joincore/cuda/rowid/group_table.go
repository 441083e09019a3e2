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

// groupTable is a table with what lies in it.
type groupTable struct {
	at       driver.Ptr // its descriptor
	capacity int64
	limit    int64 // of groups
	special  driver.Ptr
	firsts   driver.Ptr
	parts    Owned
}

// slotBytes returns the device memory of a slot.
func (g *Groups) slotBytes() int64 {
	return int64(8*recordOf(g.spec.Words, g.layout.Words).stride + 4*g.spec.Inputs)
}

// newTable makes an empty table. It makes the count of groups 0.
func (g *Groups) newTable(ctx context.Context, capacity int64) (t groupTable, err error) {
	if capacity > mostGroupSlots {
		return t, fmt.Errorf("a table of %d groups: %w", capacity, joincore.ErrBudget)
	}
	t.capacity, t.limit, t.parts = capacity, groupsWithin(capacity), Owned{Memory: g.memory}
	r := recordOf(g.spec.Words, g.layout.Words)
	d := groupsDescriptor{
		Words: uint64(g.spec.Words), Capacity: uint64(capacity), Limit: uint64(t.limit), Probes: mostProbes,
		Count: uint64(g.state + 8*stateCount), Stride: uint64(r.stride),
		CellWords: uint64(g.layout.Words), Kinds: uint64(g.kinds), CellCount: uint64(len(g.layout.Cells)), Inputs: uint64(g.spec.Inputs),
	}
	if g.spec.Collide {
		d.Collide, d.Probes = 1, uint64(capacity)
	}
	var records uint64
	for _, part := range []struct {
		to    *uint64
		bytes int64
	}{
		{&records, 8 * int64(r.stride) * (capacity + 2)}, {&d.Special, 8}, {&d.Firsts, 4 * int64(g.spec.Inputs) * (capacity + 2)},
	} {
		at, err := t.parts.Alloc(max(part.bytes, 8))
		if err != nil {
			t.parts.Release()
			return t, fmt.Errorf("a table of %d groups after one of %d: %w", capacity, g.table.capacity, err)
		}
		*part.to = uint64(at)
	}
	d.Keys, d.Cells = records+uint64(8*r.key), records+uint64(8*r.cells)
	if r.key > 0 {
		d.States = records
	}
	t.special, t.firsts = driver.Ptr(d.Special), driver.Ptr(d.Firsts)
	if t.at, err = t.parts.Alloc(descriptorBytes); err == nil {
		err = g.q.fill(ctx, t.at, d)
	}
	if err == nil {
		err = g.launch("gj_clear_groups", capacity, uint64(t.at))
	}
	if err != nil {
		t.parts.Release()
	}
	return t, err
}

// mostProbes is how many slots are tried for a group before a table is full. A table that
// cannot grow has no such bound.
const mostProbes = 256

// launch starts a simple kernel of this module.
func (g *Groups) launch(name string, items int64, args ...uint64) error {
	k, err := g.q.kernels.groups.Kernel(name)
	if err != nil {
		return err
	}
	return g.q.start(k, items/rowsPerBlock+1, args...)
}

// grow makes space for more groups: it moves them to a larger table or, if there is no
// memory for that, fills the table up.
func (g *Groups) grow(ctx context.Context, capacity int64) error {
	t, err := g.newTable(ctx, capacity)
	if full := mostGroupsWithin(g.table.capacity); errors.Is(err, joincore.ErrBudget) && g.table.limit < full {
		g.table.limit = full
		// In a table that is nearly full, some groups are far from the slot where they begin.
		if err := g.q.fill(ctx, g.table.at+limitOffset, [2]uint64{uint64(full), uint64(g.table.capacity)}); err != nil {
			return err
		}
		// The count was not changed: newTable makes it 0 after all allocations.
		return nil
	}
	if err != nil {
		return err
	}
	return g.moveTo(t)
}

// mostGroupsWithin is groupsWithin for a table that cannot grow: groups take longer to
// find in it.
func mostGroupsWithin(slots int64) int64 { return max(slots-slots/16, 1) }

// moveTo makes an empty table that of the groups.
func (g *Groups) moveTo(t groupTable) error {
	// The count was made 0, and all groups are counted again.
	if err := g.launch("gj_move_groups", g.table.capacity, uint64(g.table.at), uint64(t.at)); err != nil {
		t.parts.Release()
		return err
	}
	g.table.parts.Release()
	g.table = t
	return nil
}

// prepareFor enlarges the table before n rows if they are expected to bring more groups
// than it takes. Where memory is short they may do without.
func (g *Groups) prepareFor(ctx context.Context, n int64) error {
	if g.sample.rows == 0 {
		return nil
	}
	expected := g.sample.expected(n)
	if expected <= groupsWithin(g.table.capacity) {
		return nil
	}
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

// Bytes returns the device memory of the table and those of distinct values.
func (g *Groups) Bytes() int64 {
	n := g.table.parts.Bytes()
	for _, d := range g.distinct {
		n += d.Bytes()
	}
	return n
}

// GroupRows is what groups are made of in the end.
type GroupRows struct {
	Rows    int64
	Columns []Column     // of keys and functions
	Firsts  []driver.Ptr // for each input, uint32 a group: its row, or None
}

// Finish returns the groups as columns in memory that the caller frees, also after an error. It
// waits for the device. ErrArithmetic: a sum is out of range.
func (g *Groups) Finish(ctx context.Context, memory *Owned) (*GroupRows, error) {
	if err := g.addDistinct(ctx); err != nil {
		return nil, err
	}
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
	fill := func(s program.Source, c *Column) error {
		var err error
		if c.Values, err = memory.Alloc(max(int64(c.Width)*g.count, 8)); err != nil || g.count == 0 {
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
	for _, s := range g.spec.Results() {
		c := Column{Width: s.Column.Width}
		if s.Kind != program.CountOf {
			if c.Validity, err = memory.Alloc(max(g.count, 8)); err != nil {
				return nil, err
			}
		}
		if err := fill(s, &c); err != nil {
			return nil, err
		}
		out.Columns = append(out.Columns, c)
	}
	for i := range g.spec.Inputs {
		c := Column{Width: 4}
		if err := fill(program.Source{Kind: program.RowOf, Word: i}, &c); err != nil {
			return nil, err
		}
		out.Firsts = append(out.Firsts, c.Values)
	}
	state, err := q.read(ctx, g.state, stateWords)
	if err == nil && state[stateFailed] != 0 {
		err = joincore.ErrArithmetic
	}
	return out, err
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

// openDistinct makes a table for the distinct values that functions take.
func (g *Groups) openDistinct(ctx context.Context) error {
	for _, d := range g.spec.Distinct {
		spec := *g.spec
		spec.Groups, spec.Inputs = d.Groups, 0
		values, err := g.q.NewGroups(ctx, &spec, g.memory)
		if err != nil {
			return err
		}
		g.distinct = append(g.distinct, values)
	}
	return nil
}

// addDistinct adds the distinct values to their groups.
func (g *Groups) addDistinct(ctx context.Context) error {
	for i, d := range g.distinct {
		if err := g.addValues(ctx, i, d); err != nil {
			return err
		}
	}
	g.distinct = nil
	return nil
}

// addValues adds the values of a table, which it frees before.
func (g *Groups) addValues(ctx context.Context, i int, d *Groups) error {
	m := &Owned{Memory: g.memory}
	defer m.Release()
	values, err := d.Finish(ctx, m)
	if err != nil {
		return err
	}
	d.Release()
	s := Side{Rows: values.Rows, Lookup: func(ref joincore.ColumnRef) (Column, error) { return values.Columns[ref.Column], nil }}
	compiled := func(rows program.Rows) (*program.Program, error) { return g.spec.CompileDistinct(i, rows) }
	return g.add(ctx, s, compiled, nil, func(ctx context.Context, l groupLaunch, n int64) error {
		l.job.Origins = 0 // no group is new
		return g.launchRowsOf(ctx, l, n, g.scatterPlan(&l, n, min(g.count, n), 1), g.count)
	})
}
