package run_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/device"
	"gpujoin/joincore/run"
)

// tree grows random plans over inputs whose first two columns are int8 and
// int4 keys.
type tree struct {
	r     *rand.Rand
	kinds []joincore.Kind
}

var treeKeys = []joincore.Column{fixed(8), fixed(4)}

// grow joins inputs [from, to) and returns those that are visible above.
func (t *tree) grow(from, to int) (joincore.Node, []int) {
	if to-from == 1 {
		return t.filter(&joincore.Scan{Input: from}, []int{from})
	}
	cut := from + 1 + t.r.IntN(to-from-1)
	left, leftVisible := t.grow(from, cut)
	right, rightVisible := t.grow(cut, to)
	j := &joincore.Join{Kind: t.kinds[t.r.IntN(len(t.kinds))], Left: left, Right: right, Rows: float64(t.r.IntN(100))}
	for range 1 + t.r.IntN(2) {
		j.Keys = append(j.Keys, joincore.KeyPair{
			Left: t.column(leftVisible), Right: t.column(rightVisible), Class: joincore.KeyInt,
		})
	}
	visible := append(append([]int{}, leftVisible...), rightVisible...)
	if t.r.IntN(4) == 0 {
		j.Residual = t.predicate(visible)
	}
	if j.Kind == joincore.Semi || j.Kind == joincore.Anti {
		visible = leftVisible
	}
	return t.filter(j, visible)
}

func (t *tree) column(visible []int) joincore.ColumnRef {
	return joincore.ColumnRef{Input: visible[t.r.IntN(len(visible))], Column: t.r.IntN(len(treeKeys))}
}

func (t *tree) filter(n joincore.Node, visible []int) (joincore.Node, []int) {
	if t.r.IntN(5) == 0 {
		n = &joincore.Filter{Child: n, Predicate: t.predicate(visible)}
	}
	return n, visible
}

func (t *tree) predicate(visible []int) joincore.Expr {
	operand := func() joincore.Operand {
		switch t.r.IntN(3) {
		case 0:
			return joincore.Int(t.r.IntN(20) - 3)
		case 1:
			return joincore.ParameterIndex(t.r.IntN(2))
		}
		return t.column(visible)
	}
	e := joincore.Expr(&joincore.Compare{Op: joincore.CompareOp(1 + t.r.IntN(6)), Left: t.column(visible), Right: operand()})
	switch t.r.IntN(4) {
	case 0:
		e = &joincore.Not{Arg: e}
	case 1:
		e = &joincore.Or{Args: []joincore.Expr{e, &joincore.IsNull{Column: t.column(visible)}}}
	case 2:
		e = &joincore.And{Args: []joincore.Expr{e, &joincore.Not{Arg: &joincore.IsNull{Column: t.column(visible)}}}}
	}
	return e
}

// treeCase makes a plan of n inputs by a seed.
func treeCase(seed uint64, n int, kinds []joincore.Kind) (*joincore.Plan, []*joincore.Relation) {
	t := &tree{r: rand.New(rand.NewPCG(seed, 9)), kinds: kinds}
	plan := &joincore.Plan{Parameters: []joincore.Parameter{{Int: 5}, {Null: true}}}
	var inputs []*joincore.Relation
	for range n {
		d := distributions[t.r.IntN(4)]
		rel := generate(t.r, treeKeys, t.r.IntN(30), 1+t.r.IntN(12), d)
		inputs = append(inputs, rel)
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: rel.Columns})
	}
	var visible []int
	plan.Root, visible = t.grow(0, n)
	columns := []int{0, 2, 4}[:2+t.r.IntN(2)] // the last one is never moved with a key
	for _, i := range visible {
		for _, c := range columns {
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: i, Column: c})
		}
	}
	return plan, inputs
}

// TestTrees compares random trees of up to five inputs with the oracle, with
// random decisions for each join.
func TestTrees(t *testing.T) {
	for i, p := range providers {
		t.Run(p.Name(), func(t *testing.T) {
			rounds := 1500 / (1 + 2*i)
			if testing.Short() || raceDetector {
				rounds = 100
			}
			for round := range rounds {
				seed := uint64(round)
				kinds := kinds
				if round%2 == 0 {
					kinds = kinds[:1] // long pipelines of inner joins
				}
				plan, inputs := treeCase(seed, 2+round%4, kinds)
				r := rand.New(rand.NewPCG(seed, 10))
				opt := run.Options{
					Decide: func(_ int, d choose.Decision) choose.Decision {
						if r.IntN(3) == 0 {
							return d
						}
						return choose.Decision{Algorithm: algorithms[r.IntN(3)], BuildLeft: r.IntN(2) == 0, Bits: 1 + r.IntN(3)}
					},
					Device: device.Options{Streams: 1 + r.IntN(3), ChunkRows: []int{3, 16, 4096}[r.IntN(3)], Collide: r.IntN(2) == 0},
				}
				check(t, fmt.Sprintf("%s seed %d", p.Name(), seed), p, plan, inputs, 1+r.IntN(40), opt)
			}
		})
	}
}

// TestJoinStatsInPostOrder: what is reported of each join stands where the
// plan has it, whatever was executed first.
func TestJoinStatsInPostOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	unique := distributions[0]
	plan := &joincore.Plan{}
	var inputs []*joincore.Relation
	for _, n := range []int{40, 30, 20, 10} {
		rel := generate(r, treeKeys, n, 7, unique)
		inputs = append(inputs, rel)
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: rel.Columns})
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: len(inputs) - 1, Column: 0})
	}
	on := func(a, b int) []joincore.KeyPair {
		return []joincore.KeyPair{{Left: joincore.ColumnRef{Input: a}, Right: joincore.ColumnRef{Input: b}, Class: joincore.KeyInt}}
	}
	plan.Root = &joincore.Join{
		Kind:  joincore.Inner,
		Left:  &joincore.Join{Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1}, Keys: on(0, 1), Rows: 30},
		Right: &joincore.Join{Kind: joincore.Inner, Left: &joincore.Scan{Input: 2}, Right: &joincore.Scan{Input: 3}, Keys: on(2, 3), Rows: 10},
		Keys:  on(1, 2), Rows: 10,
	}
	var stats joincore.Stats
	sink := &collect{capacity: 100, columns: int64Columns(4)}
	if err := run.Run(t.Context(), providers[0], plan, inputs, &arena{}, sink, run.Options{}, &stats); err != nil {
		t.Fatal(err)
	}
	want := []joincore.JoinStats{
		{Algorithm: "npj", BuildRows: 30, ProbeRows: 40, RowsOut: 30},
		{Algorithm: "npj", BuildRows: 10, ProbeRows: 20, RowsOut: 10},
		{Algorithm: "npj", BuildRows: 10, ProbeRows: 30, RowsOut: 10},
	}
	if len(stats.Joins) != len(want) {
		t.Fatalf("%d joins reported", len(stats.Joins))
	}
	for i, got := range stats.Joins {
		got.Time = 0
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("join %d: %+v, want %+v", i, got, want[i])
		}
	}
}

// FuzzTrees looks for a plan whose execution differs from the oracle.
func FuzzTrees(f *testing.F) {
	f.Add(uint64(1), uint8(2), uint8(0), uint8(32))
	f.Add(uint64(2), uint8(4), uint8(5), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, inputs, decisions, chunk uint8) {
		plan, relations := treeCase(seed, 2+int(inputs%4), kinds)
		opt := run.Options{
			Decide: func(join int, _ choose.Decision) choose.Decision {
				d := int(decisions) + join
				return choose.Decision{Algorithm: algorithms[d%3], BuildLeft: d/3%2 == 0, Bits: 1 + d%4}
			},
			Device: device.Options{Streams: 2, ChunkRows: 1 + int(chunk), Seed: seed, Collide: seed%2 == 0},
		}
		check(t, fmt.Sprintf("seed %d", seed), providers[0], plan, relations, 7, opt)
	})
}
