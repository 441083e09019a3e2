package suite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// groupLimits are how many groups a table holds: few, so that small inputs are
// partitioned several times, or as many as the provider likes.
var groupLimits = []int{0, 0, 1, 3, 16}

// runs says whether the provider executes a plan.
func (s Subject) runs(t *testing.T, plan *joincore.Plan) bool {
	t.Helper()
	err := device.Check(s.Provider, Checked(t, plan))
	if err != nil && !errors.Is(err, joincore.ErrUnsupported) {
		t.Fatal(err)
	}
	return err == nil
}

// Aggregates compares aggregates over scans and joins of every kind with the
// oracle: keys, functions, arguments and filters of all types.
func Aggregates(t *testing.T, s Subject) {
	rounds := uint64(1500)
	if testing.Short() || Race {
		rounds = 100
	}
	const least = 10 // of which a provider executes some
	ran, failed := 0, 0
	for seed := s.Offset; seed < s.Offset+max(rounds/max(s.Thin, 1), least); seed++ {
		r := rand.New(rand.NewPCG(seed, 21))
		plan, inputs := randomAggregate(r)
		if !s.runs(t, plan) {
			continue
		}
		ran++
		if CheckArithmetic(t, fmt.Sprintf("seed %d", seed), s.Provider, plan, inputs, 1+r.IntN(40), s.groupOptions(r)) {
			failed++
		}
	}
	if t.Logf("%d plans, %d with errors", ran, failed); ran == 0 {
		t.Error("the provider executes none of them")
	}
}

// AggregateTrees compares random trees that have aggregates anywhere, also as
// the side of a join, with the oracle.
func AggregateTrees(t *testing.T, s Subject) {
	rounds := 1500 / max(s.Thin, 1)
	if testing.Short() || Race {
		rounds = 100
	}
	ran := 0
	for seed := s.Offset; seed < s.Offset+rounds; seed++ {
		n := 1 + int(seed%4)
		tree := &tree{r: rand.New(rand.NewPCG(seed, 22)), kinds: kinds, aggregates: n}
		plan, inputs := plant(tree, n)
		if tree.aggregates == n {
			continue
		}
		if !s.runs(t, plan) {
			continue
		}
		ran++
		Check(t, fmt.Sprintf("seed %d", seed), s.Provider, plan, inputs, 1+tree.r.IntN(40), s.groupOptions(tree.r))
	}
	if t.Logf("%d plans", ran); ran == 0 {
		t.Error("the provider executes none of them")
	}
}

func (s Subject) groupOptions(r *rand.Rand) exec.Options {
	return exec.Options{
		Decide: func(_ int, d costmodel.Decision) costmodel.Decision {
			if r.IntN(3) == 0 {
				return d
			}
			return costmodel.Decision{Algorithm: pick(r, s.Algorithms), BuildLeft: r.IntN(2) == 0, Bits: 1 + r.IntN(3)}
		},
		Device: device.Options{
			Streams: pick(r, []int{1, 2, 3, 16}), ChunkRows: pick(r, []int{1, 3, 16, 64, 4096}),
			Collide: r.IntN(2) == 0, Groups: pick(r, groupLimits), Seed: r.Uint64(),
		},
	}
}

// aggregate puts an aggregate on a tree. Its first two columns are keys as those
// of inputs are.
func (t *tree) aggregate(n joincore.Node, visible []int) (joincore.Node, []int) {
	input := pick(t.r, visible)
	a := &joincore.Aggregate{Child: n, ID: t.aggregates, Rows: float64(t.r.IntN(3) * 10)}
	t.aggregates++
	for i := range treeKeys {
		a.Keys = append(a.Keys, joincore.ColumnRef{Input: input, Column: i})
	}
	// Of other inputs, and of this one: the columns of aggregates are less alike.
	a.Functions = []joincore.Function{
		{Kind: joincore.Count},
		{Kind: joincore.Sum, Arg: t.column(visible), Distinct: t.r.IntN(3) == 0},
		{Kind: joincore.FunctionKind(1 + t.r.IntN(int(joincore.SumOfSquares))), Arg: t.column(visible)},
	}
	if t.r.IntN(3) == 0 {
		a.Functions[2].Filter = t.predicate(visible)
	}
	if t.r.IntN(3) == 0 {
		a.Carry = []joincore.ColumnRef{{Input: input, Column: 0}}
		return a, []int{a.ID}
	}
	return a, []int{a.ID}
}

// randomAggregate makes an aggregate over one input or over a join of two, with
// a condition on the groups in one of three.
func randomAggregate(r *rand.Rand) (*joincore.Plan, []*joincore.Relation) {
	t := &tree{r: r, kinds: kinds}
	plan := &joincore.Plan{Parameters: []joincore.Parameter{{Int: 5}, {Null: true}}}
	var inputs []*joincore.Relation
	var dists []distribution
	for range 1 + r.IntN(2) {
		d := pick(r, distributions)
		rel := generate(r, treeKeys, pick(r, []int{0, 1, 5, 40, 150}), 1+r.IntN(60), d)
		inputs, dists = append(inputs, rel), append(dists, d)
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: rel.Columns})
	}
	child, visible := t.grow(0, len(inputs))
	a := &joincore.Aggregate{Child: child, ID: len(inputs), Rows: float64(r.IntN(50))}
	column := func() joincore.ColumnRef {
		input := pick(r, visible)
		return joincore.ColumnRef{Input: input, Column: r.IntN(len(inputs[input].Columns))}
	}
	for range r.IntN(4) {
		a.Keys = append(a.Keys, column())
	}
	if i := pick(r, visible); r.IntN(3) == 0 && dists[i].name == unique.name {
		a.Keys = append(a.Keys, joincore.ColumnRef{Input: i})
		for c := range inputs[i].Columns { // they all depend on the key
			a.Carry = append(a.Carry, joincore.ColumnRef{Input: i, Column: c})
		}
	}
	for range r.IntN(6) {
		a.Functions = append(a.Functions, t.function(visible, column, inputs))
	}
	plan.Root = a
	if r.IntN(3) == 0 && len(a.Functions) > 0 {
		last := joincore.ColumnRef{Input: a.ID, Column: len(a.Keys) + len(a.Carry) + len(a.Functions)}
		a.Functions = append(a.Functions, joincore.Function{Kind: joincore.Count})
		plan.Root = &joincore.Filter{Child: a, Predicate: groupCondition(r, last)}
	}
	for i := range len(a.Keys) + len(a.Carry) + len(a.Functions) {
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: a.ID, Column: i})
	}
	return plan, inputs
}

// groupCondition compares the number of a group's rows with a constant, or ends the
// job if there is a group of that many rows, as checks of groups do.
func groupCondition(r *rand.Rand, rows joincore.ColumnRef) joincore.Expr {
	n := joincore.Int(r.IntN(4))
	if r.IntN(3) > 0 {
		return &joincore.Compare{Op: joincore.Greater, Left: rows, Right: n}
	}
	fails := &joincore.Compare{Op: joincore.Equal, Left: rows, Right: n}
	divisor := &joincore.Case{Whens: []joincore.When{{Condition: fails, Then: joincore.Int(0)}}, Else: joincore.Int(1)}
	quotient := &joincore.Arithmetic{Op: joincore.Divide, Width: 8, Left: joincore.Int(1), Right: divisor}
	return &joincore.Compare{Op: joincore.Equal, Left: quotient, Right: joincore.Int(1)}
}

// function makes a random function of a column of its type.
func (t *tree) function(visible []int, column func() joincore.ColumnRef, inputs []*joincore.Relation) joincore.Function {
	f := joincore.Function{Kind: joincore.FunctionKind(1 + t.r.IntN(int(joincore.AverageFloat)))}
	if t.r.IntN(3) == 0 {
		f.Filter = t.predicate(visible)
	}
	if f.Kind == joincore.Count && t.r.IntN(2) == 0 {
		return f
	}
	for {
		arg := column()
		switch c := inputs[arg.Input].Columns[arg.Column]; {
		case c.Kind == joincore.Fixed && c.Width <= 8:
		case c.Kind == joincore.Varlena && (f.Kind == joincore.Count || f.Kind == joincore.Min || f.Kind == joincore.Max):
		default:
			continue
		}
		f.Arg = arg
		break
	}
	f.Distinct = (f.Kind == joincore.Count || f.Kind == joincore.Sum) && t.r.IntN(3) == 0
	return f
}

// AggregateValues compares aggregates whose keys, arguments and filters are
// random expressions with the oracle, errors included.
func AggregateValues(t *testing.T, s Subject) {
	rounds := 3000 / max(s.Thin, 1)
	if testing.Short() || Race {
		rounds = 300
	}
	ran, failed := 0, 0
	for seed := s.Offset; seed < s.Offset+rounds; seed++ {
		r := rand.New(rand.NewPCG(seed, 24))
		plan, inputs := randomExpressions(seed, seed%2 == 1)
		aggregateOfExpressions(rand.New(rand.NewPCG(seed, 23)), plan, seed%2 == 1)
		if !s.runs(t, plan) {
			continue
		}
		ran++
		if CheckArithmetic(t, fmt.Sprintf("seed %d", seed), s.Provider, plan, inputs, 1+r.IntN(40), s.groupOptions(r)) {
			failed++
		}
	}
	if t.Logf("%d of %d plans, %d with errors", ran, rounds, failed); ran == 0 {
		t.Error("the provider executes none of them")
	}
}

// aggregateOfExpressions puts an aggregate on a plan that has none, and returns
// its columns. integers: no expression is over bytes.
func aggregateOfExpressions(r *rand.Rand, plan *joincore.Plan, integers bool) {
	x := &expressions{r: r, inputs: len(plan.Inputs), parameters: len(plan.Parameters), encoding: joincore.UTF8, integers: integers}
	value := func() joincore.Value {
		if !integers && r.IntN(2) == 0 {
			return x.text(r.IntN(3))
		}
		return x.number(r.IntN(3))
	}
	for {
		a := &joincore.Aggregate{Child: plan.Root, ID: len(plan.Inputs)}
		for range r.IntN(3) {
			a.Keys = append(a.Keys, value())
		}
		for range 1 + r.IntN(4) {
			f := joincore.Function{Kind: joincore.FunctionKind(1 + r.IntN(int(joincore.AverageFloat))), Arg: value()}
			f.Distinct = f.Kind <= joincore.Sum && r.IntN(3) == 0
			if r.IntN(3) == 0 {
				f.Filter = x.condition(1 + r.IntN(2))
			}
			a.Functions = append(a.Functions, f)
		}
		whole := *plan
		whole.Root, whole.Output = a, nil
		checked, err := joincore.Check(&whole)
		if err != nil {
			continue // a sum of text, a computed key of 16 bytes
		}
		for i := range checked.Schema()[a.ID] {
			whole.Output = append(whole.Output, joincore.ColumnRef{Input: a.ID, Column: i})
		}
		*plan = whole
		return
	}
}
