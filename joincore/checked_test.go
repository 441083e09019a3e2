package joincore_test

import (
	"errors"
	"strings"
	"testing"

	"gpujoin/joincore"
)

// TestCheckRefuses has plans that cannot be executed, each with what is said of it.
func TestCheckRefuses(t *testing.T) {
	of := func(input, column int) joincore.ColumnRef { return joincore.ColumnRef{Input: input, Column: column} }
	input := joincore.Input{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Varlena, Align: 4}}}
	key := joincore.KeyPair{Left: of(0, 0), Right: of(1, 0), Class: joincore.KeyInt}
	count := []joincore.Function{{Kind: joincore.Count}}
	for says, change := range map[string]func(p *joincore.Plan, j *joincore.Join){
		"":                                     func(*joincore.Plan, *joincore.Join) {},
		"unknown algorithm":                    func(p *joincore.Plan, _ *joincore.Join) { p.Algorithm = joincore.SMJOM + 1 },
		"node <nil>":                           func(p *joincore.Plan, _ *joincore.Join) { p.Root = nil },
		"scan of an input that does not exist": func(_ *joincore.Plan, j *joincore.Join) { j.Right = &joincore.Scan{Input: 2} },
		"input 2 is not scanned":               func(p *joincore.Plan, _ *joincore.Join) { p.Inputs = append(p.Inputs, input) },
		"join kind 0":                          func(_ *joincore.Plan, j *joincore.Join) { j.Kind = 0 },
		"keys[0]: right: invalid input data: input 0 is not below": func(_ *joincore.Plan, j *joincore.Join) { j.Keys[0].Right = of(0, 0) },
		"input 1 has no column 7":                                  func(_ *joincore.Plan, j *joincore.Join) { j.Keys[0].Right = of(1, 7) },
		"key class 1 cannot compare":                               func(_ *joincore.Plan, j *joincore.Join) { j.Keys[0].Right = of(1, 1) },
		"output[0]: invalid input data: input 1 is not below": func(p *joincore.Plan, j *joincore.Join) {
			j.Kind, p.Output = joincore.Semi, []joincore.ColumnRef{of(1, 1)}
		},
		"an integer where bytes": func(_ *joincore.Plan, j *joincore.Join) {
			j.Residual = &joincore.Like{Arg: of(0, 0), Encoding: joincore.UTF8}
		},
		"condition <nil>": func(p *joincore.Plan, j *joincore.Join) { p.Root = &joincore.Filter{Child: j} },
		"derived input 3": func(p *joincore.Plan, j *joincore.Join) {
			p.Root = &joincore.Aggregate{Child: j, ID: 3, Functions: count}
		},
		"carried columns without": func(p *joincore.Plan, j *joincore.Join) {
			p.Root = &joincore.Aggregate{Child: j, ID: 2, Carry: []joincore.ColumnRef{of(0, 0)}}
		},
		"plan: root: aggregate 2: key 0:": func(p *joincore.Plan, j *joincore.Join) {
			p.Root = &joincore.Aggregate{Child: j, ID: 2, Keys: []joincore.Value{of(2, 0)}}
		},
		"input 0 is not below this node": func(p *joincore.Plan, j *joincore.Join) {
			p.Root, p.Output = &joincore.Aggregate{Child: j, ID: 2, Functions: count}, []joincore.ColumnRef{of(0, 1)}
		},
	} {
		join := &joincore.Join{Kind: joincore.Inner, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1}, Keys: []joincore.KeyPair{key}}
		plan := &joincore.Plan{Inputs: []joincore.Input{input, input}, Root: join}
		change(plan, join)
		_, err := joincore.Check(plan)
		if says == "" && err != nil || says != "" && (!errors.Is(err, joincore.ErrInvalid) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// TestCheckedStays: a plan that changes after the check is another one.
func TestCheckedStays(t *testing.T) {
	plan := &joincore.Plan{Inputs: []joincore.Input{{}}, Root: &joincore.Scan{}}
	checked, err := joincore.Check(plan)
	if err != nil {
		t.Fatal(err)
	}
	plan.Root, plan.Output = nil, []joincore.ColumnRef{{}}
	if checked.Root == nil || checked.Output != nil {
		t.Errorf("%+v", checked)
	}
	for _, inputs := range [][]*joincore.Relation{nil, {nil}, {{Columns: make([]joincore.Column, 1)}}} {
		if err := checked.CheckInputs(inputs); !errors.Is(err, joincore.ErrInvalid) {
			t.Errorf("inputs %v: %v", inputs, err)
		}
	}
	if err := checked.CheckInputs([]*joincore.Relation{{}}); err != nil {
		t.Error(err)
	}
}
