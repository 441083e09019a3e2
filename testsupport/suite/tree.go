package suite

import (
	"math/rand/v2"

	"gpujoin/joincore"
)

// tree generates random plans over inputs whose first two columns are int8 and
// int4 keys.
type tree struct {
	r     *rand.Rand
	kinds []joincore.Kind
	// aggregates is the number of the next derived input; 0: the plan has none.
	aggregates int
}

var treeKeys = []joincore.Column{fixed(8), fixed(4)}

// RandomTree returns a plan of n inputs with joins of all kinds and filters at random
// places, by seed.
func RandomTree(seed uint64, n int) (*joincore.Plan, []*joincore.Relation) {
	return randomTree(seed, n, kinds)
}

func randomTree(seed uint64, n int, kinds []joincore.Kind) (*joincore.Plan, []*joincore.Relation) {
	return plant(&tree{r: rand.New(rand.NewPCG(seed, 9)), kinds: kinds}, n)
}

// plant grows a plan of n inputs.
func plant(t *tree, n int) (*joincore.Plan, []*joincore.Relation) {
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
	columns := []int{0, 2, 4}[:2+t.r.IntN(2)] // column 4 is never moved with a key
	for _, i := range visible {
		for _, c := range columns {
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: i, Column: c})
		}
	}
	return plan, inputs
}

// grow joins inputs [from, to) and returns the inputs visible above the join.
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
	if t.aggregates > 0 && t.r.IntN(3) == 0 {
		n, visible = t.aggregate(n, visible)
		return t.filter(n, visible)
	}
	return n, visible
}

func (t *tree) predicate(visible []int) joincore.Expr {
	operand := func() joincore.Value {
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
		e = &joincore.Or{Args: []joincore.Expr{e, &joincore.IsNull{Arg: t.column(visible)}}}
	case 2:
		e = &joincore.And{Args: []joincore.Expr{e, &joincore.Not{Arg: &joincore.IsNull{Arg: t.column(visible)}}}}
	}
	return e
}
