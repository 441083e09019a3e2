// Package oracle executes plans by nested loops, one row at a time. It is written for
// readability; tests compare every provider's results with the oracle's.
package oracle

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"gpujoin/joincore"
)

// Rows is a multiset of result rows, encoded by AppendValue.
type Rows map[string]int

// AppendValue appends the encoding of one value, such that equal rows are equal
// strings: 0 for NULL, else 1, the length and the bytes.
func AppendValue(row, value []byte, null bool) []byte {
	if null {
		return append(row, 0)
	}
	row = append(row, 1)
	row = binary.LittleEndian.AppendUint32(row, uint32(len(value)))
	return append(row, value...)
}

// Run executes a plan over its inputs. The error is joincore.ErrUnsupported
// where the plan has a node that the oracle does not know, and ErrArithmetic
// where a value that SQL would evaluate has no result.
func Run(plan *joincore.Plan, inputs []*joincore.Relation) (Rows, error) {
	checked, err := joincore.Check(plan)
	if err != nil {
		return nil, err
	}
	o := &oracle{plan: plan, inputs: inputs, schema: checked.Schema(), derived: map[int][]group{}}
	tuples, err := o.rows(plan.Root)
	if err != nil {
		return nil, err
	}
	result := Rows{}
	for _, t := range tuples {
		var row []byte
		for _, c := range plan.Output {
			value, null := o.raw(t, c)
			row = AppendValue(row, value, null)
		}
		result[string(row)]++
	}
	return result, nil
}

// A tuple holds a row number for each input, or absent.
type tuple []int

const absent = -1

type oracle struct {
	plan    *joincore.Plan
	inputs  []*joincore.Relation
	schema  joincore.Schema
	derived map[int][]group // rows of derived inputs
}

func (o *oracle) rows(n joincore.Node) ([]tuple, error) {
	switch n := n.(type) {
	case *joincore.Scan:
		return o.scan(n), nil
	case *joincore.Filter:
		child, err := o.rows(n.Child)
		if err != nil {
			return nil, err
		}
		var out []tuple
		for _, t := range child {
			passes, err := o.eval(n.Predicate, t)
			if err != nil {
				return nil, err
			}
			if passes == isTrue {
				out = append(out, t)
			}
		}
		return out, nil
	case *joincore.Join:
		return o.join(n)
	case *joincore.Aggregate:
		return o.aggregate(n)
	}
	return nil, fmt.Errorf("plan node %T: %w", n, joincore.ErrUnsupported)
}

func (o *oracle) scan(s *joincore.Scan) []tuple {
	var out []tuple
	for row := range int(o.inputs[s.Input].Rows()) {
		out = append(out, o.tuple(s.Input, row))
	}
	return out
}

// tuple is one row of an input.
func (o *oracle) tuple(input, row int) tuple {
	t := make(tuple, len(o.schema))
	for i := range t {
		t[i] = absent
	}
	t[input] = row
	return t
}

func (o *oracle) join(j *joincore.Join) ([]tuple, error) {
	left, err := o.rows(j.Left)
	if err != nil {
		return nil, err
	}
	right, err := o.rows(j.Right)
	if err != nil {
		return nil, err
	}
	var out []tuple
	rightFound := make([]bool, len(right))
	for _, l := range left {
		found := false
		for i, r := range right {
			pair := merge(l, r)
			partners, err := o.partners(j, pair)
			if err != nil {
				return nil, err
			}
			if !partners {
				continue
			}
			if found = true; j.Kind == joincore.Semi || j.Kind == joincore.Anti {
				break
			}
			rightFound[i] = true
			out = append(out, pair)
		}
		switch {
		case j.Kind == joincore.Semi && found:
			out = append(out, l)
		case (j.Kind == joincore.Anti || j.Kind == joincore.Left || j.Kind == joincore.Full) && !found:
			out = append(out, l)
		}
	}
	if j.Kind == joincore.Right || j.Kind == joincore.Full {
		for i, r := range right {
			if !rightFound[i] {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

func merge(l, r tuple) tuple {
	out := make(tuple, len(l))
	for i := range out {
		out[i] = max(l[i], r[i])
	}
	return out
}

func (o *oracle) partners(j *joincore.Join, pair tuple) (bool, error) {
	for _, k := range j.Keys {
		a, aNull := o.raw(pair, k.Left)
		b, bNull := o.raw(pair, k.Right)
		if aNull || bNull {
			return false, nil
		}
		if k.Class == joincore.KeyInt && integer(a).Cmp(integer(b)) != 0 || k.Class != joincore.KeyInt && !bytes.Equal(a, b) {
			return false, nil
		}
	}
	if j.Residual == nil {
		return true, nil
	}
	passes, err := o.eval(j.Residual, pair)
	return passes == isTrue, err
}

// raw returns the bytes of a column in a tuple.
func (o *oracle) raw(t tuple, c joincore.ColumnRef) (value []byte, null bool) {
	row := t[c.Input]
	if row == absent {
		return nil, true
	}
	if rows, ok := o.derived[c.Input]; ok {
		d := rows[row][c.Column]
		return d.bytes, d.null
	}
	r := o.inputs[c.Input]
	for i := range r.Segments {
		s := &r.Segments[i]
		if row >= s.Rows {
			row -= s.Rows
			continue
		}
		return ValueAt(r.Columns[c.Column], &s.Columns[c.Column], row)
	}
	panic("row number beyond the relation")
}

// ValueAt returns the bytes of one value of a vector.
func ValueAt(c joincore.Column, v *joincore.Vector, row int) (value []byte, null bool) {
	if v.Validity != nil && v.Validity[row/8]>>(row%8)&1 == 0 {
		return nil, true
	}
	if c.Kind == joincore.Fixed {
		return v.Values[row*c.Width : (row+1)*c.Width], false
	}
	start := binary.LittleEndian.Uint32(v.Values[4*row:])
	end := binary.LittleEndian.Uint32(v.Values[4*row+4:])
	return v.Heap[start:end], false
}
