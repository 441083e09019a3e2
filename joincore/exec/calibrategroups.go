package exec

import (
	"errors"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

const (
	groupedRows     = 1 << 18 // of a measurement with few groups
	manyGroups      = 1 << 12 // from here on, all probe rows are grouped, once
	groupedRunsFew  = 2
	groupedRunsMany = 1
)

// measuredFunctions is how many functions, operations or conditions the
// measurement of one of them adds.
const measuredFunctions = 4

// groupRates measures aggregation: of rows into groups, and what further
// functions, operations and conditions add. costmodel.Points whose data does not fit are
// extrapolated from the smaller ones.
func (c *calibration) groupRates(r *costmodel.Rates) error {
	for i := range costmodel.GroupPoints {
		ns, err := c.grouping(costmodel.GroupRows(i), []joincore.Function{sumOf(payload)}, nil)
		if errors.Is(err, joincore.ErrBudget) && i > 0 {
			ns, err = slower*r.GroupNS[i-1], nil
		}
		if err != nil {
			return err
		}
		r.GroupNS[i] = ns
	}
	few := costmodel.GroupRows(0)
	base := r.GroupNS[0]
	more := func(functions []joincore.Function, where joincore.Expr) (float64, error) {
		ns, err := c.grouping(few, functions, where)
		return max((ns-base)/measuredFunctions, minColumnNS), err
	}
	var err error
	if r.FunctionNS, err = more(manyFunctions(), nil); err != nil {
		return err
	}
	if r.OperationNS, err = more([]joincore.Function{sumOf(manyOperations())}, nil); err != nil {
		return err
	}
	r.ConditionNS, err = more([]joincore.Function{sumOf(payload)}, manyConditions())
	return err
}

var payload = joincore.ColumnRef{Column: 1}

func sumOf(v joincore.Value) joincore.Function {
	return joincore.Function{Kind: joincore.Sum, Arg: v}
}

// manyFunctions are a sum and measuredFunctions others.
func manyFunctions() []joincore.Function {
	return []joincore.Function{
		sumOf(payload),
		{Kind: joincore.Min, Arg: payload},
		{Kind: joincore.Max, Arg: payload},
		{Kind: joincore.Count, Arg: payload},
		sumOf(joincore.ColumnRef{}),
	}
}

// manyOperations is a value of measuredFunctions operations, each of which
// depends on the one before.
func manyOperations() joincore.Value {
	var v joincore.Value = payload
	for i := range measuredFunctions {
		v = &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: v, Right: joincore.Int(int64(i + 1))}
	}
	return v
}

// manyConditions is a conjunction of measuredFunctions conditions, which all
// rows meet.
func manyConditions() joincore.Expr {
	all := &joincore.And{}
	for i := range measuredFunctions {
		all.Args = append(all.Args, &joincore.Compare{Op: joincore.GreaterEqual, Left: payload, Right: joincore.Int(-int64(i))})
	}
	return all
}

// grouping groups probe rows by keys with the given number of distinct values, and
// returns the best time in ns per row of one core.
func (c *calibration) grouping(groups int64, functions []joincore.Function, where joincore.Expr) (float64, error) {
	if err := c.data.prepare(c.mem, int(groups)); err != nil {
		return 0, err
	}
	best, rows, runs := 0.0, groupedRows, groupedRunsFew
	if groups >= manyGroups {
		rows, runs = probeRows, groupedRunsMany
	}
	for range runs {
		ns, err := c.groupOnce(groups, rows, functions, where)
		if err != nil {
			return 0, err
		}
		if best == 0 || ns < best {
			best = ns
		}
	}
	return best, nil
}

func (c *calibration) groupOnce(groups int64, n int, functions []joincore.Function, where joincore.Expr) (float64, error) {
	node := &joincore.Aggregate{
		Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Functions: functions, Rows: float64(groups),
	}
	if where != nil {
		node.Child = &joincore.Filter{Child: node.Child, Predicate: where}
	}
	m, err := c.run(&joincore.Plan{Root: node}, costmodel.Decision{}, relation(c.data.probe, c.data.other, n))
	if err != nil {
		return 0, err
	}
	return m.ns(m.took) / float64(n), nil
}
