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
	"gpujoin/testsupport/oracle"
)

// Values compares random expressions with the oracle, as filters above scans
// and joins and as residuals, errors included. It skips what the provider says
// that it does not support.
func Values(t *testing.T, s Subject) {
	rounds := 6000 / max(s.Thin, 1)
	if testing.Short() || Race {
		rounds = 600
	}
	var ran, failed int
	for seed := s.Offset; seed < s.Offset+rounds; seed++ {
		plan, inputs := randomExpressions(seed, seed%2 == 1)
		if !s.runs(t, plan) {
			continue
		}
		ran++
		r := rand.New(rand.NewPCG(seed, 12))
		opt := exec.Options{
			Decide: func(_ int, d costmodel.Decision) costmodel.Decision {
				return costmodel.Decision{Algorithm: pick(r, s.Algorithms), BuildLeft: r.IntN(2) == 0, Bits: 1 + r.IntN(3)}
			},
			Device: device.Options{
				Streams: 1 + r.IntN(3), ChunkRows: []int{3, 70, 4096}[r.IntN(3)], EmitRows: pick(r, emits), Collide: r.IntN(2) == 0,
			},
		}
		if CheckArithmetic(t, fmt.Sprintf("seed %d", seed), s.Provider, plan, inputs, 1+r.IntN(40), opt) {
			failed++
		}
	}
	t.Logf("%d of %d plans, %d with errors", ran, rounds, failed)
}

// CheckArithmetic is Check for plans that may end with ErrArithmetic, and says
// whether this one does.
func CheckArithmetic(t *testing.T, name string, p device.Provider, plan *joincore.Plan, inputs []*joincore.Relation, batch int, opt exec.Options) bool {
	t.Helper()
	_, err := oracle.Run(plan, inputs)
	if !errors.Is(err, joincore.ErrArithmetic) {
		Check(t, name, p, plan, inputs, batch, opt)
		return false
	}
	mem, sink := &Arena{}, NewCollector(plan, batch)
	if got := Run(t.Context(), p, plan, inputs, mem, sink, opt, nil); !errors.Is(got, joincore.ErrArithmetic) && !beyond8Bytes(plan, got) {
		t.Fatalf("%s: error %v, the oracle's is %v\n%s\n%s", name, got, err, Show(plan.Root), describe(inputs))
	}
	mem.empty(t, name)
	sink.closed(t, name)
	return true
}

// RandomExpressions makes a plan with a random condition: a filter above a
// scan or a join, or a residual.
func RandomExpressions(seed uint64) (*joincore.Plan, []*joincore.Relation) {
	return randomExpressions(seed, false)
}

// RandomIntegers makes such a plan whose expressions are not over bytes, with an
// aggregate if groups is set.
func RandomIntegers(seed uint64, groups bool) (*joincore.Plan, []*joincore.Relation) {
	plan, inputs := randomExpressions(seed, true)
	if groups {
		aggregateOfExpressions(rand.New(rand.NewPCG(seed, 23)), plan, true)
	}
	return plan, inputs
}

func randomExpressions(seed uint64, integers bool) (*joincore.Plan, []*joincore.Relation) {
	r := rand.New(rand.NewPCG(seed, 11))
	x := &expressions{r: r, inputs: 1 + r.IntN(2), parameters: 3, encoding: joincore.Encoding(1 + r.IntN(2)), integers: integers}
	plan := &joincore.Plan{Parameters: []joincore.Parameter{{Int: 5}, {Null: true}, {Int: x.integer(8)}}}
	var inputs []*joincore.Relation
	for i := range x.inputs {
		rows := 1 + r.IntN(20)
		if x.inputs == 1 && r.IntN(4) == 0 {
			rows = 200 // so that parts of a chunk are worth to be taken
		}
		rel := x.relation(rows, 1+r.IntN(rows), []float64{0, 0.2, 1}[r.IntN(3)])
		inputs = append(inputs, rel)
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: rel.Columns})
		for c := range rel.Columns {
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: i, Column: c})
		}
	}
	condition := x.condition(1 + r.IntN(4))
	if x.inputs == 1 {
		plan.Root = &joincore.Filter{Child: &joincore.Scan{Input: 0}, Predicate: condition}
		return plan, inputs
	}
	join := &joincore.Join{
		Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
		Keys: []joincore.KeyPair{{
			Left: joincore.ColumnRef{Input: 0, Column: rowColumn}, Right: joincore.ColumnRef{Input: 1, Column: rowColumn}, Class: joincore.KeyInt,
		}},
	}
	plan.Root = join
	if r.IntN(2) == 0 { // NULLs of rows without a partner, too
		join.Kind = pick(r, []joincore.Kind{joincore.Inner, joincore.Left, joincore.Right, joincore.Full})
		plan.Root = &joincore.Filter{Child: join, Predicate: condition}
	} else {
		join.Residual = condition
		join.Kind = pick(r, []joincore.Kind{joincore.Inner, joincore.Left, joincore.Right, joincore.Full})
	}
	return plan, inputs
}
