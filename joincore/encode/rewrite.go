package encode

import (
	"maps"
	"slices"

	"gpujoin/joincore"
)

// addedKind says what a column contains that is added to an input.
type addedKind uint8

const (
	// addedTruth: a condition, 1 byte.
	addedTruth addedKind = iota
	// addedCode: codes of values, 4 bytes.
	addedCode
	// addedText: the values, of variable length.
	addedText
)

// added is a column that is added to an input: what is made of a value, which reads
// columns of that input.
type added struct {
	kind  addedKind
	value joincore.Value
}

// column describes the values.
func (a added) column() joincore.Column {
	switch a.kind {
	case addedTruth:
		return joincore.Column{Kind: joincore.Fixed, Width: 1, Align: 1}
	case addedCode:
		return joincore.Column{Kind: joincore.Fixed, Width: 4, Align: 4}
	}
	return joincore.Column{Kind: joincore.Varlena, Align: 4}
}

// rewriting is a plan over inputs with added columns.
type rewriting struct {
	plan  *joincore.Plan
	added [][]added // by input, behind its own columns
}

// inputs is a set of inputs.
type inputs map[int]bool

// rewriter rewrites a plan from the leaves up.
type rewriter struct {
	plan   *joincore.Plan
	schema joincore.Schema // of that plan
	added  [][]added
	// codes are the code columns of columns, by their places in the plan; moves are
	// columns of groups that are elsewhere in the new plan.
	codes, moves map[joincore.ColumnRef]joincore.ColumnRef
}

// rewrite replaces all expressions over texts that it can. The plan is valid.
func rewrite(plan *joincore.Plan) (*rewriting, error) {
	schema, err := plan.Schema()
	if err != nil {
		return nil, err
	}
	w := &rewriter{
		plan: plan, schema: schema, added: make([][]added, len(plan.Inputs)),
		codes: map[joincore.ColumnRef]joincore.ColumnRef{}, moves: map[joincore.ColumnRef]joincore.ColumnRef{},
	}
	out := *plan
	out.Root, _ = w.node(plan.Root)
	out.Output = w.movedAll(plan.Output)
	out.Inputs = slices.Clone(plan.Inputs)
	for i, list := range w.added {
		out.Inputs[i].Columns = slices.Clone(plan.Inputs[i].Columns)
		for _, a := range list {
			out.Inputs[i].Columns = append(out.Inputs[i].Columns, a.column())
		}
	}
	return &rewriting{plan: &out, added: w.added}, nil
}

// add adds a column to an input.
func (w *rewriter) add(input int, kind addedKind, v joincore.Value) joincore.ColumnRef {
	w.added[input] = append(w.added[input], added{kind: kind, value: v})
	return joincore.ColumnRef{Input: input, Column: len(w.plan.Inputs[input].Columns) + len(w.added[input]) - 1}
}

// moved returns where a column is in the new plan.
func (w *rewriter) moved(c joincore.ColumnRef) joincore.ColumnRef {
	if to, ok := w.moves[c]; ok {
		return to
	}
	return c
}

func (w *rewriter) movedAll(list []joincore.ColumnRef) []joincore.ColumnRef {
	out := make([]joincore.ColumnRef, len(list))
	for i, c := range list {
		out[i] = w.moved(c)
	}
	return out
}

// node rewrites a node, and returns the inputs below it that outer joins may add rows to.
func (w *rewriter) node(n joincore.Node) (joincore.Node, inputs) {
	switch n := n.(type) {
	case *joincore.Filter:
		child, missing := w.node(n.Child)
		return &joincore.Filter{Child: child, Predicate: w.expr(n.Predicate, missing)}, missing
	case *joincore.Join:
		return w.join(n)
	case *joincore.Aggregate:
		return w.aggregate(n), inputs{}
	}
	return n, inputs{}
}

func (w *rewriter) join(n *joincore.Join) (joincore.Node, inputs) {
	out := *n
	var missing, right inputs
	out.Left, missing = w.node(n.Left)
	out.Right, right = w.node(n.Right)
	maps.Copy(missing, right)
	out.Residual = w.expr(n.Residual, missing) // of two rows that exist
	out.Keys = slices.Clone(n.Keys)
	for i := range out.Keys {
		k := &out.Keys[i]
		k.Left, k.Right = w.moved(k.Left), w.moved(k.Right)
	}
	if n.Kind == joincore.Right || n.Kind == joincore.Full {
		missing.add(n.Left)
	}
	if n.Kind == joincore.Left || n.Kind == joincore.Full {
		missing.add(n.Right)
	}
	return &out, missing
}

// add adds the base inputs below a node.
func (s inputs) add(n joincore.Node) {
	switch n := n.(type) {
	case *joincore.Scan:
		s[n.Input] = true
	case *joincore.Filter:
		s.add(n.Child)
	case *joincore.Join:
		s.add(n.Left)
		s.add(n.Right)
	}
}
