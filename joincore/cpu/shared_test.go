package cpu_test

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// TestSharedValues: arguments that have parts in common are right with few
// groups and with many, where values need 128 bits, and where a filter keeps a
// shared quotient from a division by zero.
func TestSharedValues(t *testing.T) {
	const n = 3000
	r := rand.New(rand.NewPCG(1, 5))
	relation := suite.Int64Relation(n, 3, func(row, c int) uint64 {
		switch {
		case c == 0:
			return uint64(row % 40)
		case c == 1 && row%500 < 64: // some chunks are wide
			return r.Uint64()
		}
		return uint64(r.IntN(7) - 3)
	})
	x, y := joincore.ColumnRef{Column: 1}, joincore.ColumnRef{Column: 2}
	of := func(op joincore.ArithmeticOp, l, r joincore.Value) joincore.Value {
		return &joincore.Arithmetic{Op: op, Width: 16, Left: l, Right: r}
	}
	discounted := func() joincore.Value { return of(joincore.Multiply, x, of(joincore.Subtract, joincore.Int(100), y)) }
	quotient := func() joincore.Value { return of(joincore.Divide, x, y) }
	sum := func(v joincore.Value, filter joincore.Expr) joincore.Function {
		return joincore.Function{Kind: joincore.Sum, Arg: v, Filter: filter}
	}
	divides := &joincore.Compare{Op: joincore.NotEqual, Left: y, Right: joincore.Int(0)}
	for name, key := range map[string]joincore.Value{
		"one group": nil, "two groups": &joincore.Truth{Arg: divides}, "40 groups": joincore.ColumnRef{},
	} {
		a := &joincore.Aggregate{Child: &joincore.Scan{}, ID: 1, Functions: []joincore.Function{
			sum(x, nil), sum(discounted(), nil), sum(of(joincore.Add, discounted(), discounted()), nil),
			sum(of(joincore.Subtract, y, discounted()), nil), sum(discounted(), divides),
			sum(quotient(), divides), sum(of(joincore.Add, quotient(), x), divides),
			{Kind: joincore.Min, Arg: quotient(), Filter: divides}, {Kind: joincore.Max, Arg: discounted()},
			{Kind: joincore.Count, Arg: discounted()}, {Kind: joincore.Count, Arg: quotient(), Distinct: true, Filter: divides},
		}}
		if key != nil {
			a.Keys = []joincore.Value{key}
		}
		plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: relation.Columns}}, Root: a}
		for i := range len(a.Keys) + len(a.Functions) {
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: 1, Column: i})
		}
		for _, groups := range []int{0, 3} {
			opt := exec.Options{Device: device.Options{Streams: 2, ChunkRows: 64, Groups: groups}}
			suite.Check(t, name, cpu.New(), plan, []*joincore.Relation{relation}, 100, opt)
		}
	}
}
