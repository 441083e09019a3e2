package textcodes

import "gpujoin/joincore"

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
