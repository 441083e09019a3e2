//go:build cuda

package rowid

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/program"
)

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
	m := &noted{Memory: g.memory}
	values, err := d.Finish(ctx, m)
	if err != nil {
		return err
	}
	defer m.free()
	d.Release()
	s := Side{Rows: values.Rows, Lookup: func(ref joincore.ColumnRef) (Column, error) { return values.Columns[ref.Column], nil }}
	compiled := func(rows program.Rows) (*program.Program, error) { return g.spec.CompileDistinct(i, rows) }
	return g.add(ctx, s, compiled, nil, func(ctx context.Context, l groupLaunch, n int64) error {
		l.job.Origins = 0 // no group is new
		return g.launchRowsOf(ctx, l, n, g.scatterPlan(&l, n, min(g.count, n), 1), g.count)
	})
}

// noted is memory that is freed together.
type noted struct {
	Memory
	made []owned
}

func (m *noted) Alloc(bytes int64) (driver.Ptr, error) {
	at, err := m.Memory.Alloc(bytes)
	if err == nil {
		m.made = append(m.made, owned{at, bytes})
	}
	return at, err
}

func (m *noted) free() {
	for _, o := range m.made {
		m.Free(o.at, o.bytes)
	}
}
