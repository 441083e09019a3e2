package textcodes

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
	of    *vocabulary // of codes
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

// rewriting is a plan over inputs with added columns, and behind them over vocabularies.
type rewriting struct {
	plan    *joincore.Checked
	added   [][]added               // by input, behind its own columns
	listed  []*vocabulary           // by further input
	lookUps map[*joincore.Join]bool // joins with vocabularies
	all     []*vocabulary           // also those that are a part of others
	// selections are conditions that are complete once there are dictionaries.
	selections []selection
}

// inputs is a set of inputs.
type inputs map[int]bool

// rewriter rewrites a plan from the leaves up.
type rewriter struct {
	rewriting
	old    *joincore.Checked
	schema joincore.Schema // of the old plan
	shift  int             // inputs that the new plan has more
	// parameters are those of the new plan.
	parameters []joincore.Parameter
	// Columns of the old plan: numbers are the numbers of texts; moves are columns that are
	// elsewhere in the new plan.
	numbers map[joincore.ColumnRef]number
	moves   map[joincore.ColumnRef]joincore.ColumnRef
	present map[int]joincore.ColumnRef // columns that are NULL only where an outer join has added the row
}

// rewrite replaces all expressions over texts that it can. The results of aggregates have
// numbers behind those of all inputs, and how many inputs there are is known in the end: then
// the plan is rewritten again.
func rewrite(plan *joincore.Checked) (*rewriting, error) {
	w := newRewriter(plan, 0)
	root, _ := w.node(plan.Root)
	if n := len(w.listed); n > 0 {
		w = newRewriter(plan, n)
		root, _ = w.node(plan.Root)
	}
	out := &joincore.Plan{
		Inputs: slices.Clone(plan.Inputs), Root: root, Output: w.movedAll(plan.Output), Parameters: w.parameters, Algorithm: plan.Algorithm,
	}
	for i, list := range w.added {
		out.Inputs[i].Columns = slices.Clone(plan.Inputs[i].Columns)
		for _, a := range list {
			out.Inputs[i].Columns = append(out.Inputs[i].Columns, a.column())
		}
	}
	for range w.listed {
		out.Inputs = append(out.Inputs, joincore.Input{Columns: listedColumns})
	}
	var err error
	w.plan, err = joincore.Check(out) // it has other columns, inputs and parameters
	return &w.rewriting, err
}

func newRewriter(plan *joincore.Checked, shift int) *rewriter {
	return &rewriter{
		rewriting: rewriting{added: make([][]added, len(plan.Inputs)), lookUps: map[*joincore.Join]bool{}},
		old:       plan, schema: plan.Schema(), shift: shift, parameters: slices.Clone(plan.Parameters),
		numbers: map[joincore.ColumnRef]number{}, moves: map[joincore.ColumnRef]joincore.ColumnRef{},
		present: map[int]joincore.ColumnRef{},
	}
}

// add adds a column to an input.
func (w *rewriter) add(input int, a added) joincore.ColumnRef {
	w.added[input] = append(w.added[input], a)
	return joincore.ColumnRef{Input: input, Column: len(w.old.Inputs[input].Columns) + len(w.added[input]) - 1}
}

// moved returns where a column is in the new plan.
func (w *rewriter) moved(c joincore.ColumnRef) joincore.ColumnRef {
	if to, ok := w.moves[c]; ok {
		return to
	}
	if c.Input >= len(w.old.Inputs) {
		c.Input += w.shift
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
		out.Keys[i] = w.key(out.Keys[i])
	}
	if n.Kind == joincore.Right || n.Kind == joincore.Full {
		missing.add(n.Left)
	}
	if n.Kind == joincore.Left || n.Kind == joincore.Full {
		missing.add(n.Right)
	}
	return &out, missing
}

// key rewrites a key of a join. A device has texts of groups only as codes.
func (w *rewriter) key(k joincore.KeyPair) joincore.KeyPair {
	_, left := w.numbers[k.Left]
	_, right := w.numbers[k.Right]
	groups := len(w.old.Inputs)
	if k.Class != joincore.KeyInt && (left && k.Left.Input >= groups || right && k.Right.Input >= groups) {
		if l, r, ok := w.compared(k.Left, k.Right, nil, false); ok {
			l, isColumn := l.(joincore.ColumnRef)
			r, areColumns := r.(joincore.ColumnRef)
			if isColumn && areColumns {
				return joincore.KeyPair{Left: l, Right: r, Class: joincore.KeyInt}
			}
		}
	}
	return joincore.KeyPair{Left: w.moved(k.Left), Right: w.moved(k.Right), Class: k.Class}
}

// add adds the inputs of which a node's rows are made.
func (s inputs) add(n joincore.Node) {
	for _, input := range joincore.Sources(n) {
		s[input] = true
	}
}

// codedWidth is the number of bytes from which on a key of fixed width gets a code.
const codedWidth = 17

// aggregate rewrites an aggregate. A key that is a text becomes its code. A value of the
// key is carried behind the columns that are already, or is looked up above the groups, as
// the least and the greatest text are.
func (w *rewriter) aggregate(n *joincore.Aggregate) joincore.Node {
	child, missing := w.node(n.Child)
	out := &joincore.Aggregate{Child: child, ID: n.ID + w.shift, Rows: n.Rows}
	out.Carry = w.movedAll(n.Carry)
	var looked []lookUp
	was := func(column int) joincore.ColumnRef { return joincore.ColumnRef{Input: n.ID, Column: column} }
	is := func(column int) joincore.ColumnRef { return joincore.ColumnRef{Input: out.ID, Column: column} }
	for i, k := range n.Keys {
		if !w.needsCode(k) || !w.canNumber(k, missing) {
			out.Keys = append(out.Keys, w.value(k, missing))
			continue
		}
		code := w.numbered(k, missing)
		out.Keys = append(out.Keys, code.value)
		w.numbers[was(i)] = number{is(i), code.of}
		if value, ok := w.carried(k, code); ok {
			w.moves[was(i)] = is(len(n.Keys) + len(out.Carry))
			out.Carry = append(out.Carry, value)
		} else {
			looked = append(looked, lookUp{was(i), is(i), code.of})
		}
	}
	for i, f := range n.Functions {
		old, now := was(len(n.Keys)+len(n.Carry)+i), is(len(out.Keys)+len(out.Carry)+i)
		w.moves[old] = now
		f.Filter = w.expr(f.Filter, missing)
		if f.Arg != nil {
			if arg, code, ok := w.leastOrGreatest(&f, missing); ok {
				f.Arg = arg
				w.numbers[old] = number{now, code}
				looked = append(looked, lookUp{old, now, code})
			} else {
				f.Arg = w.argument(&f, missing)
			}
		}
		out.Functions = append(out.Functions, f)
	}
	return w.lookedUp(out, looked)
}

// needsCode reports whether no integer of a device can be a key.
func (w *rewriter) needsCode(k joincore.Value) bool {
	if c, ok := k.(joincore.ColumnRef); ok {
		desc := w.schema.Column(c)
		return desc.Kind != joincore.Fixed || desc.Width >= codedWidth
	}
	return w.isBytes(k)
}

// carried returns the column with the values of a key that has a code.
func (w *rewriter) carried(k joincore.Value, code number) (joincore.ColumnRef, bool) {
	if c, ok := k.(joincore.ColumnRef); ok {
		return w.moved(c), true
	}
	if c, ok := code.value.(joincore.ColumnRef); ok {
		return w.add(c.Input, added{kind: addedText, value: k}), true
	}
	return joincore.ColumnRef{}, false // in rows that outer joins add, such a column would be NULL
}

// leastOrGreatest returns the codes of which a function finds the least or greatest, and
// their vocabulary, if it is a function of texts.
func (w *rewriter) leastOrGreatest(f *joincore.Function, missing inputs) (codes joincore.Value, of *vocabulary, ok bool) {
	if f.Kind != joincore.Min && f.Kind != joincore.Max || !w.isBytes(f.Arg) || !w.canNumber(f.Arg, missing) {
		return nil, nil, false
	}
	n := w.numbered(f.Arg, missing)
	n.of.order()
	return n.value, n.of, true
}

// argument rewrites the argument of a function that counts texts, or that reads none.
func (w *rewriter) argument(f *joincore.Function, missing inputs) joincore.Value {
	switch {
	case f.Kind != joincore.Count:
	case f.Distinct && w.needsCode(f.Arg) && w.canNumber(f.Arg, missing):
		return w.numbered(f.Arg, missing).value
	case !f.Distinct && w.readsBytes(f.Arg):
		isNull := &joincore.IsNull{Arg: f.Arg}
		return w.value(&joincore.Case{Whens: []joincore.When{{Condition: isNull, Then: joincore.Null{Width: 1}}}, Else: joincore.Int(1)}, missing)
	}
	return w.value(f.Arg, missing)
}

func (w *rewriter) isBytes(v joincore.Value) bool {
	t, err := joincore.ValueType(v, w.schema.Column)
	return err == nil && t.Bytes
}

// lookUp is a column of groups whose texts are looked up by their codes.
type lookUp struct {
	column joincore.ColumnRef // in the old plan
	code   joincore.ColumnRef
	of     *vocabulary
}

// lookedUp joins groups with the vocabularies of their texts.
func (w *rewriter) lookedUp(groups *joincore.Aggregate, list []lookUp) joincore.Node {
	var out joincore.Node = groups
	for _, l := range list {
		input := len(w.old.Inputs) + len(w.listed)
		w.listed = append(w.listed, l.of)
		l.of.root().payloads = true
		join := &joincore.Join{
			Kind: joincore.Left, Left: out, Right: &joincore.Scan{Input: input}, Rows: groups.Rows,
			Keys: []joincore.KeyPair{{Left: l.code, Right: joincore.ColumnRef{Input: input, Column: listedCode}, Class: joincore.KeyInt}},
		}
		w.moves[l.column] = joincore.ColumnRef{Input: input, Column: listedText}
		w.lookUps[join] = true
		out = join
	}
	return out
}

// A vocabulary is an input of the new plan with these columns.
const (
	listedCode = iota
	listedText
)

var listedColumns = []joincore.Column{
	listedCode: {Kind: joincore.Fixed, Width: 4, Align: 4},
	listedText: {Kind: joincore.Varlena, Align: 4},
}
