package encode

import "gpujoin/joincore"

// codedWidth is the number of bytes from which on a key of fixed width gets a code.
const codedWidth = 9

// aggregate rewrites an aggregate. A key with a code becomes the code, and its value is
// carried behind the columns that are already.
func (w *rewriter) aggregate(n *joincore.Aggregate) joincore.Node {
	child, missing := w.node(n.Child)
	out := &joincore.Aggregate{Child: child, ID: n.ID, Rows: n.Rows}
	old := len(n.Keys) + len(n.Carry) // columns before the functions
	out.Carry = w.movedAll(n.Carry)
	here := func(column int) joincore.ColumnRef { return joincore.ColumnRef{Input: n.ID, Column: column} }
	moves := map[joincore.ColumnRef]joincore.ColumnRef{}
	for i, k := range n.Keys {
		code, value, ok := w.code(k, missing)
		if !ok {
			out.Keys = append(out.Keys, w.value(k, missing))
			continue
		}
		out.Keys = append(out.Keys, code)
		w.codes[here(i)] = here(i)
		moves[here(i)] = here(len(n.Keys) + len(out.Carry))
		out.Carry = append(out.Carry, value)
	}
	for i, f := range n.Functions {
		f.Filter = w.expr(f.Filter, missing)
		if f.Kind == joincore.Count && !f.Distinct && f.Arg != nil && w.hasBytes(f.Arg) {
			f.Arg = &joincore.Case{
				Whens: []joincore.When{{Condition: &joincore.IsNull{Arg: f.Arg}, Then: joincore.Null{Width: 1}}},
				Else:  joincore.Int(1),
			}
		}
		if f.Arg != nil {
			f.Arg = w.value(f.Arg, missing)
		}
		out.Functions = append(out.Functions, f)
		moves[here(old+i)] = here(len(out.Keys) + len(out.Carry) + i)
	}
	for from, to := range moves {
		w.moves[from] = to
	}
	return out
}

// code returns the codes of a key that no integer of a device can be, and the column with
// its values.
func (w *rewriter) code(k joincore.Value, missing inputs) (code, value joincore.ColumnRef, ok bool) {
	c, column := k.(joincore.ColumnRef)
	switch {
	case column && w.schema.Column(c).Kind == joincore.Fixed && w.schema.Column(c).Width < codedWidth, !column && !w.isBytes(k):
		return code, value, false
	case column:
		if code, ok = w.codes[c]; !ok && c.Input < len(w.plan.Inputs) {
			code, ok = w.add(c.Input, addedCode, c), true
			w.codes[c] = code
		}
		return code, w.moved(c), ok
	}
	columns := joincore.AggregateColumns(&joincore.Aggregate{Keys: []joincore.Value{k}})
	input, ok := w.single(columns)
	if !ok || joincore.ValueCanFail(k) || missing[input] && !nullOfNulls(k) {
		return code, value, false
	}
	return w.add(input, addedCode, k), w.add(input, addedText, k), true
}

func (w *rewriter) isBytes(v joincore.Value) bool {
	t, err := joincore.ValueType(v, w.schema.Column)
	return err == nil && t.Bytes
}
