package bulk

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// tableJoin is the join for which executions make one table of their build rows.
type tableJoin struct {
	device.Prepared
	d     *attending
	own   *space
	table device.Space
}

// prepareTable brings a device's build rows to the meeting, and prepares the join with those of all.
func (d *attending) prepareTable(ctx context.Context, spec *device.JoinSpec, own *space) (device.Prepared, error) {
	if spec.Emit != device.Pairs || spec.Residual != nil || spec.Leftover || !spec.Build.Exact {
		panic("devices meet at a join that is not one of pairs by exact keys")
	}
	if d.came.Swap(true) {
		panic("a join at which devices meet is prepared a second time")
	}
	if err := d.hook(ctx, Before, d.member); err != nil {
		return nil, err
	}
	rows, err := d.read(ctx, own, spec.Build, spec.KeepBuild)
	if err != nil {
		return nil, err
	}
	d.build = rows
	got, err := d.meeting.Join(ctx, d.member, &rowsOf{sides: [2]*joincore.Relation{rows}})
	if err == nil {
		err = d.hook(ctx, After, d.member)
	}
	if err != nil {
		return nil, err
	}
	input := spec.Build.Parts[0].Column.Input
	d.sent.Store(got.sent)
	table, err := d.dev.Import(input, d.fetched(input, got.sides[0]))
	if err != nil {
		return nil, err
	}
	inner, err := d.dev.Prepare(ctx, spec, table)
	if err != nil {
		table.Release()
		return nil, err
	}
	own.users.Add(1)
	return &tableJoin{inner, d, own, table}, nil
}

// combine returns the build rows of all members to each of them, where they are.
func (t *team) combine(ctx context.Context, parts []*rowsOf) ([]*rowsOf, error) {
	if err := t.hook(ctx, At, 0); err != nil {
		return nil, err
	}
	all := &joincore.Relation{Columns: parts[0].sides[0].Columns}
	for _, p := range parts {
		all.Segments = append(all.Segments, p.sides[0].Segments...)
	}
	out := make([]*rowsOf, len(parts))
	for i, p := range parts {
		out[i] = &rowsOf{sides: [2]*joincore.Relation{all}, sent: (all.Rows() - p.sides[0].Rows()) * t.exchange.RowBytes(t.exchange.Build)}
	}
	t.readers.Begin(len(parts))
	return out, nil
}

// Report implements device.Prepared.
func (j *tableJoin) Report() joincore.JoinStats {
	r := j.Prepared.Report()
	kind := "+spread"
	if j.d.exchange.Hosted {
		kind = "+hybrid"
	}
	r.Algorithm += kind
	r.BuildRows = j.d.build.Rows()
	return r
}

// Release implements device.Prepared.
func (j *tableJoin) Release() {
	j.Prepared.Release()
	j.table.Release()
	j.own.users.Add(-1)
}

// Close implements device.Device. The memory of an execution's build rows gets other content when it is
// given back: whoever still reads them then returns wrong rows.
func (d *attending) Close() {
	d.dev.Close()
	if !d.exchange.Spread {
		return
	}
	d.readers.End(func() {
		if d.build == nil {
			return
		}
		for _, s := range d.build.Segments {
			for _, v := range s.Columns {
				for i := range v.Values {
					v.Values[i] = 0xa5
				}
			}
		}
	})
}
