package exec

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// aggregate groups the rows of its child, which never exist beyond a chunk, and
// returns the flow of the groups. These stay until an aggregate above has read
// them, or until the end: columns of theirs may be fetched by row number.
func (e *chunked) aggregate(n *joincore.Aggregate) (*flow, error) {
	// Carried columns are fetched by row number at the end: the joins below pass
	// these on, not moved columns.
	f, err := e.flow(n.Child, newColumns(joincore.AggregateColumns(n)), len(n.Carry) > 0)
	if err != nil {
		return nil, err
	}
	a, err := e.dev.Aggregate(e.aggregateSpec(n))
	if err != nil {
		f.close()
		return nil, err
	}
	defer a.Release()
	defer func() { e.groups[slices.Index(e.aggregates, n)] = a.Report() }()
	if err := e.drain(f, Group(a)); err != nil {
		return nil, err
	}
	space, err := a.Space(e.ctx)
	if err != nil {
		return nil, err
	}
	for _, below := range joincore.Aggregates(n.Child) {
		if s := e.spaces[below.ID]; s != nil {
			s.Release()
			e.spaces[below.ID] = nil
		}
	}
	e.spaces[n.ID] = space
	e.rows[n] = rowsOf(space)
	return &flow{source: NewScan(e.dev, space)}, nil
}

// aggregateSpec describes an aggregate to a device.
func (e *planState) aggregateSpec(n *joincore.Aggregate) *device.AggregateSpec {
	return &device.AggregateSpec{
		ID: n.ID, Keys: n.Keys, Carry: n.Carry, Functions: n.Functions, Parameters: e.plan.Parameters,
		Columns: e.schema[n.ID], Schema: e.schema, Groups: clampRows(n.Rows),
	}
}

// deviceInputs is how many inputs a device may see: those of the plan, the results of its
// aggregates, and behind them the distinct values of each aggregate's functions, which take
// the same numbers as those of the others.
func deviceInputs(p *joincore.Checked) int {
	aggregates, most := joincore.Aggregates(p.Root), 0
	for _, a := range aggregates {
		distinct := 0
		for i := range a.Functions {
			if a.Functions[i].Distinct {
				distinct++
			}
		}
		most = max(most, distinct)
	}
	return len(p.Inputs) + len(aggregates) + most
}
