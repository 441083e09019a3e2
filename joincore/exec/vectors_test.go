package exec_test

import (
	"runtime"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// inSegments returns a relation of Fixed columns of width 8 in segments of a number of
// rows. Each makes a task for a worker.
func inSegments(r *joincore.Relation, rows int) *joincore.Relation {
	out := &joincore.Relation{Columns: r.Columns}
	for at := 0; at < r.Segments[0].Rows; at += rows {
		s := joincore.Segment{Rows: rows}
		for _, c := range r.Segments[0].Columns {
			s.Columns = append(s.Columns, joincore.Vector{Values: c.Values[8*at : 8*(at+rows)]})
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

// TestEstimateCoversVectors: what 16 workers hold for a condition of many terms, for a
// deep expression, or for a pipeline of many joins, is in the estimate, and a condition
// takes a few megabytes whatever its terms. Rows are few, so that the estimate consists
// of that.
func TestEstimateCoversVectors(t *testing.T) {
	const rows, terms = 100, 1_000
	rel := inSegments(suite.Keyed(rows, func(row int) uint64 { return uint64(row) }), 2)
	either := &joincore.Or{}
	for i := range terms {
		either.Args = append(either.Args, &joincore.Compare{Op: joincore.Equal, Left: joincore.ColumnRef{}, Right: joincore.Int(i)})
	}
	residual := &joincore.Or{Args: []joincore.Expr{&joincore.IsNull{Arg: joincore.ColumnRef{Input: 1}}, either}}
	column := joincore.ColumnRef{Column: 1}
	above := func(x int) joincore.Expr {
		return &joincore.Compare{Op: joincore.Greater, Left: column, Right: joincore.Int(x)}
	}
	sum := joincore.Value(column)
	arms := &joincore.Case{Else: column}
	for i := range 20 {
		sum = &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: column, Right: sum}
		arms.Whens = append(arms.Whens, joincore.When{Condition: above(90 - i), Then: sum})
	}
	value := &joincore.And{Args: []joincore.Expr{above(-1), &joincore.Compare{Op: joincore.Greater, Left: arms, Right: joincore.Int(-1)}}}
	for name, c := range map[string]struct {
		joins            int
		filter, residual joincore.Expr
		most             int64
	}{
		"filter":   {1, either, nil, 32 << 20},
		"residual": {1, nil, residual, 48 << 20},
		"value":    {1, value, nil, 256 << 20},
		"chain":    {20, nil, nil, 128 << 20},
	} {
		plan := &joincore.Plan{
			Inputs: []joincore.Input{{Columns: rel.Columns, Rows: rows}},
			Root:   &joincore.Scan{}, Output: []joincore.ColumnRef{{Column: 1}},
		}
		inputs := []*joincore.Relation{rel}
		if c.filter != nil {
			plan.Root = &joincore.Filter{Child: plan.Root, Predicate: c.filter}
		}
		for i := 1; i <= c.joins; i++ {
			inputs = append(inputs, rel)
			plan.Inputs = append(plan.Inputs, plan.Inputs[0])
			plan.Root = &joincore.Join{
				Kind: joincore.Inner, Left: plan.Root, Right: &joincore.Scan{Input: i}, Rows: rows, Residual: c.residual,
				Keys: []joincore.KeyPair{{Right: joincore.ColumnRef{Input: i}, Class: joincore.KeyInt}},
			}
		}
		opt := exec.Options{Rates: &costmodel.Rates{NPJRows: 1 << 20}}
		opt.Device.Streams = 16
		sink := suite.NewDiscarder(suite.Int64Columns(1), 32, 1<<13)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := suite.Run(t.Context(), cpu.New(), plan, inputs, &suite.Arena{}, sink, opt, nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		estimate, taken := exec.Estimate(suite.Checked(t, plan), opt), int64(after.TotalAlloc-before.TotalAlloc)
		t.Logf("%s: %d bytes allocated, %d estimated", name, taken, estimate)
		if taken > estimate || estimate > c.most {
			t.Errorf("%s: %d bytes allocated, %d estimated, at most %d expected", name, taken, estimate, c.most)
		}
	}
}
