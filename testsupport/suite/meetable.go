package suite

import (
	"encoding/binary"
	"strings"

	"gpujoin/joincore"
)

// Meetable makes a random tree one that may have a join at which devices exchange rows: joins of two inputs
// are inner ones by one key. It returns texts of some inputs, and of others values that are too wide to move.
func Meetable(plan *joincore.Plan) *joincore.Plan {
	for i, c := range plan.Output {
		if plan.Inputs[c.Input].Columns[c.Column].Kind == joincore.Varlena && c.Input%3 == 2 {
			plan.Output[i].Column = len(plan.Inputs[c.Input].Columns) - 1
		}
	}
	for _, j := range joincore.Joins(plan.Root) {
		if len(joincore.Joins(j)) == 1 {
			j.Kind, j.Residual, j.Keys = joincore.Inner, nil, j.Keys[:1]
		}
	}
	return plan
}

// Meeting is a plan with a join at which devices meet.
type Meeting struct {
	Name   string
	Plan   *joincore.Plan
	Inputs []*joincore.Relation
}

// Columns of the inputs of Meetings: a key, the row's number, a text and a value that is too wide to move.
const (
	meetKey = iota
	meetNumber
	meetText
	meetWide
)

// Meetings returns joins at which devices meet of two inputs of some rows, in segments of some rows, and of
// which texts and wide values, NULL or not, are read later: as they are, in keys of further joins, and by
// groups. Some joins have a third input, which devices read whole.
func Meetings(left, right, segment int) (list []Meeting) {
	inputs := []*joincore.Relation{
		described(left, segment, func(row int) int { return row }),
		described(right, segment, func(row int) int { return row % (left + left/4 + 1) }),
		described(40, segment, func(row int) int { return row * 3 }),
	}
	column := func(input, column int) joincore.ColumnRef { return joincore.ColumnRef{Input: input, Column: column} }
	scan := func(input int) joincore.Node { return &joincore.Scan{Input: input} }
	join := func(kind joincore.Kind, class joincore.KeyClass, left, right joincore.Node, l, r joincore.ColumnRef) *joincore.Join {
		return &joincore.Join{Kind: kind, Left: left, Right: right, Rows: 10, Keys: []joincore.KeyPair{{Left: l, Right: r, Class: class}}}
	}
	meet := func() *joincore.Join {
		return join(joincore.Inner, joincore.KeyInt, scan(0), scan(1), column(0, meetKey), column(1, meetKey))
	}
	below := func(n joincore.Node, c joincore.ColumnRef) joincore.Node {
		return &joincore.Filter{Child: n, Predicate: &joincore.Compare{Op: joincore.Less, Left: c, Right: joincore.Int(max(left, right) * 2 / 3)}}
	}
	add := func(name string, root joincore.Node, output ...joincore.ColumnRef) {
		plan := &joincore.Plan{Root: root, Output: output}
		n := 2
		if joincore.Scans(root, 2) {
			n = 3
		}
		for _, r := range inputs[:n] {
			plan.Inputs = append(plan.Inputs, joincore.Input{Columns: r.Columns, Rows: float64(r.Rows())})
		}
		list = append(list, Meeting{name, plan, inputs[:n]})
	}
	groups := func(n joincore.Node, carry ...joincore.ColumnRef) *joincore.Aggregate {
		return &joincore.Aggregate{
			Child: n, ID: 2, Rows: 10, Keys: []joincore.Value{column(0, meetKey)}, Carry: carry,
			Functions: []joincore.Function{{Kind: joincore.Count}, {Kind: joincore.Sum, Arg: column(1, meetNumber)}},
		}
	}
	both := []joincore.ColumnRef{column(0, meetText), column(1, meetText)}
	add("both sides", meet(), append(both, column(0, meetNumber), column(1, meetNumber))...)
	add("the left side", meet(), column(0, meetText), column(1, meetNumber))
	add("the right side", meet(), column(0, meetKey), column(1, meetText))
	add("nothing else", meet(), both...)
	add("wide values", meet(), column(0, meetWide), column(1, meetText), column(1, meetWide))
	filtered := meet()
	filtered.Left, filtered.Right = below(scan(0), column(0, meetNumber)), below(scan(1), column(1, meetNumber))
	add("filtered sides", filtered, both...)
	add("a filter above", below(meet(), column(1, meetNumber)), both...)
	add("a join above", join(joincore.Left, joincore.KeyInt, meet(), scan(2), column(1, meetNumber), column(2, meetKey)), append(both, column(2, meetText))...)
	add("a join by texts", join(joincore.Inner, joincore.KeyVarlena, meet(), scan(2), column(1, meetText), column(2, meetText)), append(both, column(2, meetNumber))...)
	add("a join by wide values", join(joincore.Semi, joincore.KeyBytes, meet(), scan(2), column(0, meetWide), column(2, meetWide)), both...)
	var made []joincore.ColumnRef
	for i := range 6 {
		made = append(made, column(2, i))
	}
	add("groups that carry texts", groups(meet(), column(0, meetText), column(0, meetWide)), made[:5]...)
	add("groups that carry numbers", groups(meet(), column(0, meetNumber), column(0, meetText), column(0, meetKey)), made...)
	return list
}

// described makes an input of Meetings. Some of its segments have NULLs.
func described(rows, segment int, key func(row int) int) *joincore.Relation {
	r := &joincore.Relation{Columns: []joincore.Column{fixed(8), fixed(8), varlena, fixed(24)}}
	for first := 0; first < rows; first += segment {
		s := joincore.Segment{Rows: min(segment, rows-first), Columns: make([]joincore.Vector, len(r.Columns))}
		for j := range s.Columns {
			v := &s.Columns[j]
			if j == meetText {
				v.Values = make([]byte, 4)
			}
			nulls := j != meetKey && (first/segment+j)%2 == 1
			if nulls {
				v.Validity = make([]byte, (s.Rows+7)/8)
			}
			for i := range s.Rows {
				row := first + i
				null := nulls && row%5 == j
				if nulls && !null {
					v.Validity[i/8] |= 1 << (i % 8)
				}
				switch j {
				case meetKey:
					v.Values = binary.LittleEndian.AppendUint64(v.Values, uint64(key(row)))
				case meetNumber:
					v.Values = binary.LittleEndian.AppendUint64(v.Values, uint64(row))
				case meetText:
					if !null {
						text := strings.Repeat("text ", row%9)
						value := make([]byte, joincore.TextSize(len(text), r.Columns[j].Align))
						joincore.PutText(value, []byte(text))
						v.Heap = append(v.Heap, value...)
					}
					v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
				case meetWide:
					v.Values = append(v.Values, strings.Repeat(string(rune('a'+row%7)), r.Columns[j].Width)...)
				}
			}
		}
		r.Segments = append(r.Segments, s)
	}
	return r
}
