//go:build cuda

package rowid

import (
	"context"
	"errors"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/program"
)

// GroupRows is what groups are made of in the end.
type GroupRows struct {
	Rows    int64
	Columns []Column     // of keys and functions
	Firsts  []driver.Ptr // for each input, uint32 a group: its row, or None
}

// Finish returns the groups as columns in memory of the caller's, who frees it, also after an
// error. It waits for the device. ErrArithmetic: a sum is out of range.
func (g *Groups) Finish(ctx context.Context, memory Memory) (*GroupRows, error) {
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
