package textcodes

import (
	"bytes"
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
)

// vocabulary is a set of texts that are numbered together, because they are compared with
// each other: the values of columns, and constants. Vocabularies merge while a plan is
// rewritten.
type vocabulary struct {
	mergedInto *vocabulary // nil: a root
	ordered    bool        // the numbers have the order of the texts
	// payloads: texts are numbered by their payloads; else by their stored bytes, which
	// takes no decoding but serves only the values of one column.
	payloads  bool
	constants []constant
}

// constant is a text of a plan, whose number is a parameter.
type constant struct {
	text      []byte
	parameter joincore.ParameterIndex
}

// root returns the vocabulary into which v was merged, v itself if none.
func (v *vocabulary) root() *vocabulary {
	for v.mergedInto != nil {
		v = v.mergedInto
	}
	return v
}

// merge makes two vocabularies one.
func (v *vocabulary) merge(other *vocabulary) {
	if v, other = v.root(), other.root(); v == other {
		return
	}
	v.ordered = v.ordered || other.ordered
	v.payloads = true
	v.constants = append(v.constants, other.constants...)
	other.mergedInto = v
}

// order gives the numbers the order of the texts, which is that of their payloads.
func (v *vocabulary) order() {
	v = v.root()
	v.ordered, v.payloads = true, true
}

// vocabulary returns an empty one.
func (w *rewriter) vocabulary() *vocabulary {
	v := &vocabulary{}
	w.all = append(w.all, v)
	return v
}

// number is where the new plan has the number of a text. It is NULL where the text is.
type number struct {
	value joincore.Value
	of    *vocabulary
}

// canNumber reports whether numbered returns the number of a text, or of a column of fixed
// width: of a constant, of a column, or of a value that is computed from columns of one
// base input.
func (w *rewriter) canNumber(v joincore.Value, missing inputs) bool {
	switch v := v.(type) {
	case *joincore.Text:
		return true
	case joincore.ColumnRef:
		_, known := w.numbers[v]
		return known || v.Input < len(w.old.Inputs)
	}
	input, ok := w.single(joincore.Columns(v))
	if !ok || joincore.CanFail(v) {
		return false
	}
	if missing[input] && !nullOfNulls(v) {
		_, ok = w.textOfNulls(input, v)
	}
	return ok
}

// numbered returns the number of a text.
func (w *rewriter) numbered(v joincore.Value, missing inputs) number {
	switch v := v.(type) {
	case *joincore.Text:
		of := w.vocabulary()
		return number{w.constant(of, v.Bytes), of}
	case joincore.ColumnRef:
		n, known := w.numbers[v]
		if !known {
			of := w.vocabulary()
			n = number{w.add(v.Input, added{kind: addedCode, value: v, of: of}), of}
			w.numbers[v] = n
		}
		return n
	}
	of := w.vocabulary()
	of.payloads = true
	input, _ := w.single(joincore.Columns(v))
	code := w.add(input, added{kind: addedCode, value: v, of: of})
	if !missing[input] || nullOfNulls(v) {
		return number{code, of}
	}
	text, _ := w.textOfNulls(input, v)
	other := w.constant(of, text)
	return number{&joincore.Case{Whens: []joincore.When{{Condition: w.isMissing(input), Then: other}}, Else: code}, of}
}

// constant returns the number of a text that rows of the vocabulary need not have.
func (w *rewriter) constant(of *vocabulary, text []byte) joincore.Value {
	p := joincore.ParameterIndex(len(w.parameters))
	w.parameters = append(w.parameters, joincore.Parameter{})
	of.payloads = true
	of.constants = append(of.constants, constant{text, p})
	return p
}

// compared returns the numbers of two texts in one vocabulary.
func (w *rewriter) compared(left, right joincore.Value, missing inputs, ordered bool) (l, r joincore.Value, ok bool) {
	if !w.canNumber(left, missing) || !w.canNumber(right, missing) {
		return nil, nil, false
	}
	a, b := w.numbered(left, missing), w.numbered(right, missing)
	a.of.merge(b.of)
	if ordered {
		a.of.order()
	}
	return a.value, b.value, true
}

// isMissing is true for the rows that outer joins add.
func (w *rewriter) isMissing(input int) joincore.Expr {
	there, ok := w.present[input]
	if !ok {
		there = w.add(input, added{kind: addedTruth, value: joincore.Int(1)})
		w.present[input] = there
	}
	return &joincore.IsNull{Arg: there}
}

// ofNulls passes the value in a row of an input whose columns are all NULL to visit, which
// keeps none of it.
func (w *rewriter) ofNulls(input int, v joincore.Value, visit func(*cpu.Values)) error {
	columns := w.old.Inputs[input].Columns
	row := joincore.Segment{Rows: 1}
	for _, c := range columns {
		size := c.Width
		if c.Kind == joincore.Varlena {
			size = 8 // two offsets
		}
		row.Columns = append(row.Columns, joincore.Vector{Values: make([]byte, size), Validity: []byte{0}})
	}
	e, err := cpu.NewEvaluator(input, &joincore.Relation{Columns: columns, Segments: []joincore.Segment{row}}, w.old.Parameters)
	if err != nil {
		return err
	}
	return e.Each(context.Background(), v, 0, 0, 1, func(_ int, values *cpu.Values) error {
		visit(values)
		return nil
	})
}

// textOfNulls returns the text in such a row; ok is false if it is not known or NULL.
func (w *rewriter) textOfNulls(input int, v joincore.Value) (text []byte, ok bool) {
	err := w.ofNulls(input, v, func(values *cpu.Values) {
		if ok = len(values.Bytes) > 0 && (values.Nulls == nil || values.Nulls[0] == 0); ok {
			text = bytes.Clone(values.Bytes[0])
		}
	})
	return text, ok && err == nil
}

// truthOfNulls returns the truth of a condition in such a row.
func (w *rewriter) truthOfNulls(input int, e joincore.Expr) (truth joincore.Expr, ok bool) {
	var constant joincore.Value
	err := w.ofNulls(input, &joincore.Truth{Arg: e}, func(values *cpu.Values) {
		if constant = joincore.Int(values.Ints[0]); values.Nulls != nil && values.Nulls[0] != 0 {
			constant = joincore.Null{Width: 1}
		}
	})
	return &joincore.Compare{Op: joincore.NotEqual, Left: constant, Right: joincore.Int(0)}, err == nil
}
