//go:build cuda

package rowid

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
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
