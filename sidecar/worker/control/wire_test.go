package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gpujoin/joincore"

	"google.golang.org/protobuf/proto"
)

// generator makes plans with everything in them.
type generator struct {
	*rand.Rand
	inputs int
}

func (g *generator) ref() joincore.ColumnRef {
	return joincore.ColumnRef{Input: g.IntN(9), Column: g.IntN(9)}
}

// value makes a value of any kind; its types need not fit.
func (g *generator) value(depth int) joincore.Value {
	n := g.IntN(12)
	if depth > 4 {
		n %= 6
	}
	switch n {
	case 0:
		return g.ref()
	case 1:
		return joincore.Int(g.Int64() - 1<<62)
	case 2:
		return joincore.ParameterIndex(g.IntN(9))
	case 3:
		return joincore.Decimal{Column: g.ref()}
	case 4:
		return joincore.Null{Width: g.IntN(17)}
	case 5:
		return &joincore.Text{Bytes: []byte{byte(g.IntN(256)), 0}}
	case 6:
		c := &joincore.Case{Else: g.value(depth + 1)}
		for range 1 + g.IntN(2) {
			c.Whens = append(c.Whens, joincore.When{Condition: g.expr(depth + 1), Then: g.value(depth + 1)})
		}
		return c
	case 7:
		return &joincore.Coalesce{Args: g.values(depth)}
	case 8:
		return &joincore.DatePart{Part: joincore.DateField(1 + g.IntN(3)), Arg: g.value(depth + 1)}
	case 9:
		return &joincore.Substring{Arg: g.value(depth + 1), From: g.IntN(9) - 4, For: g.IntN(9) - 4, Characters: joincore.UTF8}
	case 10:
		return &joincore.Truth{Arg: g.expr(depth + 1)}
	}
	return &joincore.Arithmetic{
		Op: joincore.ArithmeticOp(1 + g.IntN(5)), Width: []int{2, 4, 8, 16}[g.IntN(4)], Left: g.value(depth + 1), Right: g.value(depth + 1),
	}
}

func (g *generator) values(depth int) (out []joincore.Value) {
	for range g.IntN(3) {
		out = append(out, g.value(depth+1))
	}
	return out
}

func (g *generator) exprs(depth int) (out []joincore.Expr) {
	for range g.IntN(4) {
		out = append(out, g.expr(depth+1))
	}
	return out
}

func (g *generator) expr(depth int) joincore.Expr {
	n := g.IntN(7)
	if depth > 4 {
		n %= 2
	}
	switch n {
	case 0:
		return &joincore.Compare{Op: joincore.CompareOp(1 + g.IntN(6)), Left: g.value(depth + 1), Right: g.value(depth + 1)}
	case 1:
		return &joincore.IsNull{Arg: g.value(depth + 1)}
	case 5:
		return &joincore.In{Arg: g.value(depth + 1), Ints: []int64{-5, 1 << 62}, Texts: [][]byte{{1}, {2, 3}}, Null: g.IntN(2) == 0}
	case 6:
		return &joincore.Like{Arg: g.value(depth + 1), Pattern: []byte("a%"), Encoding: joincore.SingleByte}
	case 2:
		return &joincore.And{Args: g.exprs(depth)}
	case 3:
		return &joincore.Or{Args: g.exprs(depth)}
	}
	return &joincore.Not{Arg: g.expr(depth + 1)}
}

func (g *generator) node(depth int) joincore.Node {
	n := g.IntN(4)
	if depth > 4 {
		n = 0
	}
	switch n {
	case 0:
		g.inputs++
		return &joincore.Scan{Input: g.inputs - 1}
	case 1:
		return &joincore.Filter{Child: g.node(depth + 1), Predicate: g.expr(0)}
	case 2:
		return g.aggregate(depth)
	}
	j := &joincore.Join{
		Kind: joincore.Kind(1 + g.IntN(6)), Left: g.node(depth + 1), Right: g.node(depth + 1), Rows: g.ExpFloat64(),
	}
	for range 1 + g.IntN(3) {
		j.Keys = append(j.Keys, joincore.KeyPair{Left: g.ref(), Right: g.ref(), Class: joincore.KeyClass(1 + g.IntN(3))})
	}
	if g.IntN(2) == 0 {
		j.Residual = g.expr(0)
	}
	return j
}

func (g *generator) aggregate(depth int) joincore.Node {
	a := &joincore.Aggregate{Child: g.node(depth + 1), ID: g.IntN(9), Keys: g.values(0), Rows: g.ExpFloat64()}
	for range g.IntN(3) {
		a.Carry = append(a.Carry, g.ref())
		f := joincore.Function{Kind: joincore.FunctionKind(1 + g.IntN(int(joincore.AverageFloat))), Distinct: g.IntN(2) == 0}
		if g.IntN(4) > 0 {
			f.Arg = g.value(0)
		}
		if g.IntN(2) == 0 {
			f.Filter = g.expr(0)
		}
		a.Functions = append(a.Functions, f)
	}
	return a
}

func (g *generator) plan() *joincore.Plan {
	p := &joincore.Plan{Root: g.node(0), Algorithm: joincore.Algorithm(g.IntN(len(joincore.Algorithms) + 1))}
	for range g.inputs {
		p.Inputs = append(p.Inputs, joincore.Input{Rows: g.ExpFloat64(), Columns: []joincore.Column{
			{Kind: joincore.Fixed, Width: []int{1, 2, 4, 8, 16, 64}[g.IntN(6)], Align: 1 << g.IntN(4)},
			{Kind: joincore.Varlena, Align: 4},
		}})
	}
	for range g.IntN(5) {
		p.Output = append(p.Output, g.ref())
		p.Parameters = append(p.Parameters, joincore.Parameter{Int: g.Int64() - 1<<62, Null: g.IntN(2) == 0})
	}
	return p
}

// TestPlans: what is sent arrives.
func TestPlans(t *testing.T) {
	for seed := range uint64(500) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		plan := g.plan()
		encoded, err := EncodePlan(plan)
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := proto.Marshal(encoded)
		if err != nil {
			t.Fatal(err)
		}
		var received Plan
		if err := proto.Unmarshal(bytes, &received); err != nil {
			t.Fatal(err)
		}
		got, err := received.Decode()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got, plan) {
			t.Fatalf("seed %d:\n%+v\n%+v", seed, got, plan)
		}
	}
}

// TestMalformedPlans: what cannot be a plan is refused, and costs little.
func TestMalformedPlans(t *testing.T) {
	scan := &Node{Node: &Node_Scan{&Scan{}}}
	deep, deepExpr := scan, &Expr{Expr: &Expr_IsNull{&Value{Value: &Value_Int{}}}}
	for range 2 * maxDepth {
		deep = &Node{Node: &Node_Filter{&Filter{Child: deep, Predicate: deepExpr}}}
	}
	filter := func(e *Expr) *Plan {
		return &Plan{Root: &Node{Node: &Node_Filter{&Filter{Child: scan, Predicate: e}}}}
	}
	for range 2 * maxDepth {
		deepExpr = &Expr{Expr: &Expr_Not{deepExpr}}
	}
	deepValue := &Value{Value: &Value_Int{}}
	for range 2 * maxDepth {
		deepValue = &Value{Value: &Value_Coalesce{&Values{Args: []*Value{deepValue}}}}
	}
	isNull := func(v *Value) *Plan { return filter(&Expr{Expr: &Expr_IsNull{v}}) }
	aggregate := func(a *Aggregate) *Plan { return &Plan{Root: &Node{Node: &Node_Aggregate{a}}} }
	compare := func(c *Compare) *Plan { return filter(&Expr{Expr: &Expr_Compare{c}}) }
	column := func(c *Column) *Plan { return &Plan{Root: scan, Inputs: []*Input{{Columns: []*Column{c}}}} }
	for name, p := range map[string]*Plan{
		"nil":               nil,
		"no root":           {},
		"algorithm":         {Root: scan, Algorithm: 1 << 8},
		"empty node":        {Root: &Node{}},
		"nil scan's parent": {Root: &Node{Node: &Node_Filter{}}},
		"nil join":          {Root: &Node{Node: &Node_Join{}}},
		"join of kind 7":    {Root: &Node{Node: &Node_Join{&Join{Kind: 7, Left: scan, Right: scan}}}},
		"join of half":      {Root: &Node{Node: &Node_Join{&Join{Kind: 1, Left: scan}}}},
		"key class 9":       {Root: &Node{Node: &Node_Join{&Join{Kind: 1, Left: scan, Right: scan, Keys: []*KeyPair{{Class: 9}}}}}},
		"deep":              {Root: deep},
		"deep expression":   filter(deepExpr),
		"no expression":     filter(nil),
		"empty expression":  filter(&Expr{}),
		"empty not":         filter(&Expr{Expr: &Expr_Not{}}),
		"nil argument":      filter(&Expr{Expr: &Expr_And{&Exprs{Args: []*Expr{nil}}}}),
		"no comparison":     compare(nil),
		"comparison 77":     compare(&Compare{Op: 77}),
		"comparison of 256": compare(&Compare{Op: 256}),
		"empty value":       compare(&Compare{Op: 1, Left: &Value{}}),
		"deep value":        isNull(deepValue),
		"operation 256":     isNull(&Value{Value: &Value_Arithmetic{&Arithmetic{Op: 256}}}),
		"width of a result": isNull(&Value{Value: &Value_Arithmetic{&Arithmetic{Op: 1, Width: 1 << 31}}}),
		"no arithmetic":     isNull(&Value{Value: &Value_Arithmetic{}}),
		"case of no else":   isNull(&Value{Value: &Value_Case{&Case{}}}),
		"part 256":          isNull(&Value{Value: &Value_DatePart{&DatePart{Part: 256}}}),
		"far substring":     isNull(&Value{Value: &Value_Substring{&Substring{Arg: deepValue, From: 1 << 40}}}),
		"like of nothing":   filter(&Expr{Expr: &Expr_Like{&Like{Encoding: 1}}}),
		"long list":         filter(&Expr{Expr: &Expr_In{&In{Arg: &Value{Value: &Value_Int{}}, Ints: make([]int64, maxList+1)}}}),
		"nil aggregate":     aggregate(nil),
		"no child":          aggregate(&Aggregate{Id: 1}),
		"empty key":         aggregate(&Aggregate{Child: scan, Keys: []*Value{nil}}),
		"function 256":      aggregate(&Aggregate{Child: scan, Functions: []*Function{{Kind: 256}}}),
		"empty filter":      aggregate(&Aggregate{Child: scan, Functions: []*Function{{Kind: 1, Filter: &Expr{}}}}),
		"width 3":           column(&Column{Kind: 1, Width: 3, Align: 1}),
		"width 72":          column(&Column{Kind: 1, Width: 72, Align: 8}),
		"kind 257":          column(&Column{Kind: 257, Width: 8, Align: 8}),
		"alignment 0":       column(&Column{Kind: 1, Width: 8}),
		"varlena width":     column(&Column{Kind: 2, Width: 8, Align: 8}),
		"too many":          {Root: scan, Output: make([]*ColumnRef, maxColumns+1)},
	} {
		if got, err := p.Decode(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestUnsupported: a plan of kinds that the protocol does not know is not sent.
func TestUnsupported(t *testing.T) {
	for _, p := range []*joincore.Plan{
		{},
		{Root: &joincore.Filter{Child: &joincore.Scan{}}},
		{Root: &joincore.Filter{Child: &joincore.Scan{}, Predicate: &joincore.Compare{Left: joincore.Int(1)}}},
		{Root: &joincore.Aggregate{Child: &joincore.Scan{}, Keys: []joincore.Value{nil}}},
		{Root: &joincore.Join{Left: &joincore.Scan{}}},
	} {
		if _, err := EncodePlan(p); !errors.Is(err, joincore.ErrUnsupported) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// fill sets every field of v, so that one that is not translated is missed.
func fill(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n)
		}
	case reflect.String:
		*n++
		v.SetString(fmt.Sprint("name ", *n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		*n++
		v.SetInt(int64(*n))
	}
}

// TestStats: no field of the statistics is lost.
func TestStats(t *testing.T) {
	var stats joincore.Stats
	n := 0
	fill(reflect.ValueOf(&stats).Elem(), &n)
	sent := EncodeDone(nil, &stats)
	if got := sent.GetStats().Decode(2, 2); !reflect.DeepEqual(got, stats) {
		t.Errorf("%+v\n%+v", got, stats)
	}
	if err := sent.Err(); err != nil {
		t.Error(err)
	}
	sent.Stats.Joins[0].Algorithm = strings.Repeat("\xff", 1000)
	sent.Stats.Joins[0].Reason = strings.Repeat("\xff", 1000)
	sent.Stats.Joins[0].Phases = make([]*Phase, 1000)
	sent.Stats.Joins[0].Phases[0] = &Phase{PredictedNs: -1, ActualNs: math.MinInt64}
	got := sent.GetStats().Decode(1, 1)
	if p := got.Joins[0].Phases[0]; p.Predicted != 0 || p.Actual != 0 {
		t.Errorf("%+v", p)
	}
	if len(got.Joins) != 1 || len(got.Aggregates) != 1 || len(got.Joins[0].Algorithm) > maxName || len(got.Joins[0].Reason) > maxReason || len(got.Joins[0].Phases) != maxPhases {
		t.Errorf("%+v", got)
	}
}

// TestFailures: an error is the same thing on the other side.
func TestFailures(t *testing.T) {
	for _, f := range failures {
		err := EncodeDone(fmt.Errorf("input 3: %w", f.err), nil).Err()
		if !errors.Is(err, f.err) || !strings.HasPrefix(err.Error(), "input 3: ") {
			t.Errorf("%v: %v", f.err, err)
		}
	}
	err := EncodeDone(errors.New("\xff"+strings.Repeat("x", 5000)+"\nsecond line"), nil).Err()
	if err == nil || len(err.Error()) > maxText+100 || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := (&Done{Failure: 99, Text: "a\nb"}).Err(); err == nil || strings.Contains(err.Error(), "b") {
		t.Error(err)
	}
}

// TestSegments: vectors are found again where they lie.
func TestSegments(t *testing.T) {
	extent := make([]byte, 4096)
	place := func(b []byte) (Place, bool) {
		for i := range extent {
			if &extent[i] == &b[0] {
				return Place{Extent: 5, Offset: int64(i)}, true
			}
		}
		return Place{}, false
	}
	want := joincore.Segment{Rows: 16, Columns: []joincore.Vector{
		{Values: extent[64:192:192], Validity: extent[192:194:194]},
		{Values: extent[1024:1092:1092], Heap: extent[4000:4096:4096]},
	}}
	s, err := EncodeSegment(&want, place)
	if err != nil || s.Extent != 5 {
		t.Fatal(s, err)
	}
	got, err := s.Decode(extent, 2)
	if err != nil || !reflect.DeepEqual(got, want) || &got.Columns[1].Heap[0] != &extent[4000] {
		t.Errorf("%+v, %v", got, err)
	}
	want.Columns[0].Values = make([]byte, 128)
	if _, err := EncodeSegment(&want, place); !errors.Is(err, joincore.ErrUnsupported) {
		t.Error(err)
	}
	s, err = EncodeSegment(&joincore.Segment{Rows: 9}, place)
	if err != nil || s.Extent != 0 {
		t.Error(s, err)
	}
	if got, err := s.Decode(nil, 0); err != nil || got.Rows != 9 || len(got.Columns) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, bad := range map[string]*Segment{
		"nil":        nil,
		"no rows":    {Spans: make([]uint64, 12)},
		"rows":       {Rows: 1 << 40, Spans: make([]uint64, 12)},
		"one column": {Rows: 1, Spans: make([]uint64, 6)},
		"beyond":     {Rows: 1, Spans: []uint64{4096, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		"overflow":   {Rows: 1, Spans: []uint64{8, 1<<64 - 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		"far":        {Rows: 1, Spans: []uint64{1<<64 - 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		if _, err := bad.Decode(extent, 2); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzToWorker decodes what a worker may be sent.
func FuzzToWorker(f *testing.F) {
	plan, err := EncodePlan((&generator{Rand: rand.New(rand.NewPCG(3, 1))}).plan())
	if err != nil {
		f.Fatal(err)
	}
	seed, err := proto.Marshal(&ToWorker{Start: &Start{Plan: plan, Inputs: []*Relation{{
		Segments: []*Segment{{Extent: 1, Rows: 2, Spans: []uint64{0, 16, 0, 0, 0, 0}}},
	}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	extent := make([]byte, 4096)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m ToWorker
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		for _, r := range m.GetStart().GetInputs() {
			for _, s := range r.GetSegments() {
				if d, err := s.Decode(extent, 1); err == nil && len(d.Columns) != 1 {
					t.Error(d)
				}
			}
		}
		plan, err := m.GetStart().GetPlan().Decode()
		if err != nil {
			return
		}
		if _, err := EncodePlan(plan); err != nil {
			t.Error(err)
		}
	})
}

// FuzzFromWorker decodes what a daemon may be sent.
func FuzzFromWorker(f *testing.F) {
	seed, err := proto.Marshal(&FromWorker{
		Emitted: []*Emitted{{Batch: 1, Rows: 2, Heap: []int64{3}}},
		Done:    EncodeDone(nil, &joincore.Stats{Joins: []joincore.JoinStats{{Phases: []joincore.Phase{{Name: "match"}}}}}),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m FromWorker
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		got := m.GetDone().GetStats().Decode(3, 3)
		if len(got.Joins) > 3 || len(got.Aggregates) > 3 || got.JoinTime < 0 {
			t.Error(got)
		}
		for _, j := range got.Joins {
			if len(j.Phases) > maxPhases || len(j.Algorithm) > maxName || j.Time < 0 {
				t.Error(j)
			}
			for _, p := range j.Phases {
				if len(p.Name) > maxName || p.Predicted < 0 || p.Actual < 0 {
					t.Error(p)
				}
			}
		}
		_ = m.GetDone().Err()
	})
}
