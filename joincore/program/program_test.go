package program

import (
	"errors"
	"strings"
	"testing"

	"gpujoin/joincore"
)

// What programs compute is tested by the kernels' interpreter on the host
// (joincore/cuda/kernels).

var columns = []joincore.Column{
	{Kind: joincore.Fixed, Width: 4, Align: 4}, {Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Varlena, Align: 4},
	{Kind: joincore.Fixed, Width: 24, Align: 8}, {Kind: joincore.Fixed, Width: 16, Align: 8},
}

func columnOf(ref joincore.ColumnRef) joincore.Column { return columns[ref.Column] }

func ref(c int) joincore.ColumnRef { return joincore.ColumnRef{Column: c} }

// Slots are logarithmic in an expression's size where its evaluation has no order.
func TestLargeExpressions(t *testing.T) {
	sum := joincore.Value(ref(0))
	condition := joincore.Expr(&joincore.IsNull{Arg: ref(0)})
	for i := range 200 { // deep on the left, deep on the right
		product := &joincore.Arithmetic{Op: joincore.Multiply, Width: 8, Left: ref(0), Right: ref(1)}
		leaf := &joincore.Compare{Op: joincore.Less, Left: ref(0), Right: joincore.Int(i)}
		if i%2 == 0 {
			sum = &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: sum, Right: product}
			condition = &joincore.And{Args: []joincore.Expr{leaf, condition}}
		} else {
			sum = &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: product, Right: sum}
			condition = &joincore.Or{Args: []joincore.Expr{condition, leaf}}
		}
	}
	rows := checked(columnOf, 0)
	for name, e := range map[string]joincore.Expr{
		"values": &joincore.Compare{Op: joincore.Equal, Left: sum, Right: joincore.Int(3)}, "conditions": condition,
	} {
		if p, err := New(nil, e, rows); err != nil || p.Slots > 2 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// What a device cannot evaluate is said before it is asked to.
func TestWhatIsNotSupported(t *testing.T) {
	nested := joincore.Value(ref(0))
	for range maxMasks + 1 {
		nested = &joincore.Case{
			Whens: []joincore.When{{Condition: &joincore.IsNull{Arg: ref(1)}, Then: nested}}, Else: joincore.Int(1),
		}
	}
	text := &joincore.Text{Bytes: []byte("a")}
	for name, c := range map[string]struct {
		e    joincore.Expr
		says string
	}{
		"text":        {&joincore.Compare{Op: joincore.Equal, Left: ref(2), Right: text}, "variable length"},
		"constant":    {&joincore.Compare{Op: joincore.Equal, Left: text, Right: text}, "bytes"},
		"like":        {&joincore.Like{Arg: ref(2), Pattern: []byte("a"), Encoding: joincore.UTF8}, "LIKE"},
		"list":        {&joincore.In{Arg: ref(2), Texts: [][]byte{{1}}}, "bytes"},
		"wide column": {&joincore.Compare{Op: joincore.Equal, Left: ref(3), Right: joincore.Int(1)}, "24 bytes"},
		"nesting":     {&joincore.IsNull{Arg: nested}, "nested"},
	} {
		if err := Check(c.e, columnOf, 0); !errors.Is(err, joincore.ErrUnsupported) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, e := range map[string]joincore.Expr{
		"text that is NULL": &joincore.IsNull{Arg: ref(2)}, "wide column that is NULL": &joincore.IsNull{Arg: ref(3)},
		"a sum": &joincore.Compare{Op: joincore.Equal, Left: ref(4), Right: joincore.Int(1)},
	} {
		if err := Check(e, columnOf, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of plans, too, with the reason.
func TestPlansThatAreNotSupported(t *testing.T) {
	scan := &joincore.Scan{}
	aggregate := func(keys []joincore.Value, f ...joincore.Function) *joincore.Aggregate {
		return &joincore.Aggregate{Child: scan, ID: 1, Keys: keys, Functions: f}
	}
	wide := &joincore.Arithmetic{Op: joincore.Multiply, Width: 16, Left: ref(1), Right: ref(1)}
	carried := func(column joincore.ColumnRef) *joincore.Aggregate {
		return &joincore.Aggregate{Child: scan, ID: 1, Keys: []joincore.Value{ref(0)}, Carry: []joincore.ColumnRef{column}}
	}
	group := joincore.ColumnRef{Input: 1, Column: 1}
	joined := func(column joincore.ColumnRef, class joincore.KeyClass) *joincore.Join {
		a := carried(column)
		a.ID = 2
		column.Input = 1
		return &joincore.Join{Kind: joincore.Inner, Left: a, Right: &joincore.Scan{Input: 1}, Keys: []joincore.KeyPair{
			{Left: joincore.ColumnRef{Input: 2, Column: 1}, Right: column, Class: class},
		}}
	}
	above := func(a *joincore.Aggregate) *joincore.Aggregate {
		a.ID = 2
		return &joincore.Aggregate{Child: a, ID: 1, Functions: []joincore.Function{{Kind: joincore.Count, Arg: joincore.ColumnRef{Input: 2, Column: 1}}}}
	}
	for name, c := range map[string]struct {
		root joincore.Node
		says string // "": supported
	}{
		"scan":                      {scan, ""},
		"one group":                 {aggregate(nil, joincore.Function{Kind: joincore.Count}), ""},
		"keys and sums":             {aggregate([]joincore.Value{ref(0), ref(1)}, joincore.Function{Kind: joincore.Sum, Arg: wide}), ""},
		"count of text":             {aggregate(nil, joincore.Function{Kind: joincore.Count, Arg: ref(2)}), ""},
		"text key":                  {aggregate([]joincore.Value{ref(2)}), "variable length"},
		"least text":                {aggregate(nil, joincore.Function{Kind: joincore.Min, Arg: ref(2)}), "of bytes"},
		"least of 16 bytes":         {aggregate(nil, joincore.Function{Kind: joincore.Min, Arg: wide}), ""},
		"distinct values":           {aggregate([]joincore.Value{ref(1)}, joincore.Function{Kind: joincore.Count, Arg: ref(0), Distinct: true}), ""},
		"distinct texts":            {aggregate(nil, joincore.Function{Kind: joincore.Count, Arg: ref(2), Distinct: true}), "variable length"},
		"filter of distinct values": {aggregate(nil, joincore.Function{Kind: joincore.Sum, Arg: ref(0), Distinct: true, Filter: &joincore.Like{Arg: ref(2), Encoding: joincore.UTF8}}), "LIKE"},
		"filter above":              {&joincore.Filter{Child: aggregate([]joincore.Value{ref(0)}), Predicate: &joincore.IsNull{Arg: joincore.ColumnRef{Input: 1}}}, ""},
		"carried text":              {carried(ref(2)), ""},
		"filter of carried numbers": {&joincore.Filter{Child: carried(ref(1)), Predicate: &joincore.IsNull{Arg: group}}, ""},
		"filter of carried text":    {&joincore.Filter{Child: carried(ref(2)), Predicate: &joincore.IsNull{Arg: group}}, "carried"},
		"filter of 24 bytes":        {&joincore.Filter{Child: carried(ref(3)), Predicate: &joincore.IsNull{Arg: group}}, "carried"},
		"join by carried numbers":   {joined(ref(1), joincore.KeyInt), ""},
		"join by carried text":      {joined(ref(2), joincore.KeyVarlena), "carried"},
		"count of carried numbers":  {above(carried(ref(1))), ""},
		"count of carried text":     {above(carried(ref(2))), "carried"},
		"filter of text":            {&joincore.Filter{Child: scan, Predicate: &joincore.Like{Arg: ref(2), Encoding: joincore.UTF8}}, "LIKE"},
		"filter of a function":      {aggregate(nil, joincore.Function{Kind: joincore.Count, Filter: &joincore.Like{Arg: ref(2), Encoding: joincore.UTF8}}), "LIKE"},
	} {
		plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: columns}}, Root: c.root}
		if _, ok := c.root.(*joincore.Join); ok {
			plan.Inputs = append(plan.Inputs, plan.Inputs[0])
		}
		valid, err := joincore.Check(plan)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = CheckPlan(valid)
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, joincore.ErrUnsupported) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key of one number has one word, and so have several narrow ones with what says that
// they are NULL.
func TestKeysShareWords(t *testing.T) {
	narrow, wide := joincore.Column{Kind: joincore.Fixed, Width: 4, Align: 4}, joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	small := joincore.Column{Kind: joincore.Fixed, Width: 2, Align: 2}
	for _, c := range []struct {
		columns []joincore.Column
		words   int
	}{{nil, 1}, {[]joincore.Column{narrow}, 1}, {[]joincore.Column{wide}, 1}, {[]joincore.Column{narrow, small}, 1},
		{[]joincore.Column{narrow, narrow}, 2}, {[]joincore.Column{wide, wide}, 3}, {[]joincore.Column{wide, narrow, narrow}, 3}} {
		g := &Groups{Keys: make([]joincore.Value, len(c.columns))}
		if err := g.planKeys(c.columns); err != nil || g.Words != c.words {
			t.Errorf("%v: %d words, %v", c.columns, g.Words, err)
		}
		taken := make([]uint64, g.Words)
		for _, p := range g.Parts {
			bits := []uint64{^uint64(0) >> (64 - 8*p.Column.Width) << p.Shift, 0}
			if !p.Alone {
				bits[1] = 1 << p.NullShift
			}
			for i, w := range []int{p.Word, p.NullWord} {
				if taken[w]&bits[i] != 0 {
					t.Errorf("%v: bits are used twice", c.columns)
				}
				taken[w] |= bits[i]
			}
		}
	}
}
