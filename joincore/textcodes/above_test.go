package textcodes_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/textcodes"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/suite"
)

// TestAboveGroups has steps above groups by texts, whose values stay on the host: what
// reads whether a key is NULL, or groups by it again, reads its code.
func TestAboveGroups(t *testing.T) {
	in := manyTexts([]int{40, 0, 25}, 60, 300)
	of := func(input, column int) joincore.ColumnRef { return joincore.ColumnRef{Input: input, Column: column} }
	// The second input is joined below the groups unless it is above them.
	both := &joincore.Join{
		Kind: joincore.Semi, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1},
		Keys: []joincore.KeyPair{{Left: of(0, 1), Right: of(1, 1), Class: joincore.KeyInt}},
	}
	plan := func(below joincore.Node, above func(groups joincore.Node) joincore.Node, outputs ...joincore.ColumnRef) *joincore.Plan {
		groups := &joincore.Aggregate{
			Child: below, ID: 2, Keys: []joincore.Value{joincore.ColumnRef{}, joincore.ColumnRef{Column: 1}},
			Functions: []joincore.Function{{Kind: joincore.Count}},
		}
		return &joincore.Plan{
			Inputs: []joincore.Input{{Columns: in.Columns}, {Columns: in.Columns}}, Root: above(groups), Output: outputs,
		}
	}
	join := func(kind joincore.Kind, column int, class joincore.KeyClass, residual joincore.Expr) func(joincore.Node) joincore.Node {
		return func(groups joincore.Node) joincore.Node {
			return &joincore.Join{
				Kind: kind, Left: &joincore.Scan{Input: 1}, Right: groups, Residual: residual,
				Keys: []joincore.KeyPair{{Left: of(1, column), Right: of(2, column), Class: class}},
			}
		}
	}
	filtered := func(e joincore.Expr) func(joincore.Node) joincore.Node {
		return func(n joincore.Node) joincore.Node { return &joincore.Filter{Child: n, Predicate: e} }
	}
	null := &joincore.IsNull{Arg: of(2, 0)}
	like := &joincore.Like{Arg: of(2, 0), Pattern: []byte("%1"), Encoding: joincore.UTF8}
	none := &joincore.Like{Arg: of(2, 0), Pattern: []byte("none"), Encoding: joincore.UTF8}
	some := &joincore.In{Arg: of(2, 0), Texts: [][]byte{[]byte("é1"), []byte("é9")}, Null: true}
	part := &joincore.In{Arg: &joincore.Substring{Arg: of(2, 0), From: 2, For: 1, Characters: joincore.UTF8}, Texts: [][]byte{[]byte("1"), []byte("4")}}
	p := textcodes.New(words{&bulk.Provider{Inner: cpu.New()}})
	inputs := []*joincore.Relation{in, in}
	for name, c := range map[string]*joincore.Plan{
		"filter": plan(both, func(n joincore.Node) joincore.Node { return &joincore.Filter{Child: n, Predicate: null} }, of(2, 0), of(2, 1), of(2, 2)),
		"not NULL": plan(both, func(n joincore.Node) joincore.Node {
			return &joincore.Filter{Child: n, Predicate: &joincore.Not{Arg: null}}
		}, of(2, 0), of(2, 2)),
		"left join": plan(&joincore.Scan{}, func(n joincore.Node) joincore.Node {
			return &joincore.Filter{Child: join(joincore.Left, 1, joincore.KeyInt, &joincore.Not{Arg: null})(n), Predicate: &joincore.Not{Arg: null}}
		}, of(1, 0), of(2, 0), of(2, 2)),
		"full join": plan(&joincore.Scan{}, join(joincore.Full, 1, joincore.KeyInt, null), of(1, 0), of(2, 0), of(2, 2)),
		"groups of groups": plan(both, func(n joincore.Node) joincore.Node {
			return &joincore.Aggregate{
				Child: n, ID: 3, Keys: []joincore.Value{of(2, 0)},
				Functions: []joincore.Function{{Kind: joincore.Count}, {Kind: joincore.Count, Arg: of(2, 0)}, {Kind: joincore.Max, Arg: of(2, 2)}},
			}
		}, of(3, 0), of(3, 1), of(3, 2), of(3, 3)),
		"join by texts of groups":      plan(&joincore.Scan{}, join(joincore.Inner, 0, joincore.KeyVarlena, nil), of(1, 0), of(2, 0), of(2, 2)),
		"texts of groups":              plan(both, filtered(like), of(2, 0), of(2, 2)),
		"not these texts":              plan(both, filtered(&joincore.Not{Arg: like}), of(2, 0), of(2, 2)),
		"no such text":                 plan(both, filtered(&joincore.Not{Arg: none}), of(2, 0), of(2, 2)),
		"unknown texts":                plan(both, filtered(&joincore.Not{Arg: some}), of(2, 0), of(2, 2)),
		"parts of texts":               plan(both, filtered(&joincore.Or{Args: []joincore.Expr{none, part}}), of(2, 0)),
		"texts of added rows":          plan(&joincore.Scan{}, join(joincore.Left, 1, joincore.KeyInt, part), of(1, 0), of(2, 0)),
		"anti join by texts of groups": plan(&joincore.Scan{}, join(joincore.Anti, 0, joincore.KeyVarlena, nil), of(1, 0)),
	} {
		suite.Check(t, name, p, c, inputs, 7, exec.Options{})
	}
}
