package planjson

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"gpujoin/joincore"
)

// keptColumn is a column of an input that may be kept.
func keptColumn(column string) string {
	return strings.TrimSuffix(column, "}") + `,"form":1,"scale":2}`
}

// keptInput is an input that may be kept, with an int, a varlena and a key column, of which
// this many are hidden. extra follows that number.
func keptInput(hidden, extra string) string {
	return `{"database":1,"relation":2,"name":"public.t","feed":"page","rows":10,"row_bytes":24,"columns":[` +
		keptColumn(intColumn) + "," + keptColumn(varlenaColumn) + "," + keptColumn(keyColumn) + `],"kept":{"hidden":` + hidden + extra + `}}`
}

// keptJob wraps a tree over two inputs that may be kept.
func keptJob(first, second, root string) string {
	return `{"version":3,"static":{"inputs":[` + first + "," + second + `],"root":` + root + `},"runtime":` + runtimeEmpty + `}`
}

const below = `{"compare":"<","left":{"column":{"input":1,"column":0}},"right":{"parameter":0}}`

func TestPlanFor(t *testing.T) {
	residual := `,"residual":{"is_null":{"column":` + ref(0, 0) + `}}`
	tree := `{"op":"filter","child":` + join("left", intKey, residual) + `,"predicate":{"is_null":{"column":` + ref(1, 0) + `}}}`
	got, err := Decode([]byte(keptJob(keptInput("2", ""), keptInput("1", `,"condition":`+below), project(ref(0, 0)+","+ref(1, 1), tree))))
	if err != nil {
		t.Fatal(err)
	}
	in := got.Inputs[0]
	if !in.Kept || in.Hidden != 2 || len(in.Columns) != 3 || in.Columns[2].Form != 1 || in.Columns[2].Scale != 2 {
		t.Errorf("the first input is %+v", in)
	}
	condition := &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Input: 1}, Right: joincore.ParameterIndex(0)}
	for kept, columns := range map[uint64][2]int{0: {1, 2}, 1: {3, 2}, 2: {1, 3}, 3: {3, 3}} {
		plan, err := got.PlanFor(kept)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := len(plan.Inputs[0].Columns), len(plan.Inputs[1].Columns); a != columns[0] || b != columns[1] {
			t.Errorf("kept %b: inputs of %d and %d columns", kept, a, b)
		}
		var right joincore.Node = &joincore.Scan{Input: 1}
		if kept&2 != 0 {
			right = &joincore.Filter{Child: right, Predicate: condition}
		}
		j := plan.Root.(*joincore.Filter).Child.(*joincore.Join)
		if _, ok := j.Left.(*joincore.Scan); !ok || !reflect.DeepEqual(j.Right, right) || j.Residual == nil || len(j.Keys) != 1 {
			t.Errorf("kept %b: the join is %+v", kept, j)
		}
		if !reflect.DeepEqual(plan.Output, got.Plan.Output) || !reflect.DeepEqual(plan.Parameters, got.Plan.Parameters) {
			t.Errorf("kept %b: other output or parameters", kept)
		}
	}
	if plan, _ := got.PlanFor(0); plan != got.Plan {
		t.Error("nothing is kept: another plan")
	}
	if _, err := got.PlanFor(4); !errors.Is(err, joincore.ErrInvalid) {
		t.Errorf("an input that does not exist is kept: %v", err)
	}
}

// TestPlanForAggregate: a condition is evaluated below an aggregate too, and inputs that may
// not be kept are named.
func TestPlanForAggregate(t *testing.T) {
	tree := `{"op":"aggregate","id":2,"keys":[],"carry":[],"functions":[{"fn":"count"}],"child":` + join("inner", intKey, "") + `}`
	plain := strings.Split(strings.Split(job(""), `"inputs":[`)[1], `]},{`)[0] + `]}`
	got, err := Decode([]byte(keptJob(plain, keptInput("1", `,"condition":`+below), project(ref(2, 0), tree))))
	if err != nil {
		t.Fatal(err)
	}
	if got.Inputs[0].Kept {
		t.Error("an input without kept is kept")
	}
	plan, err := got.PlanFor(2)
	if err != nil {
		t.Fatal(err)
	}
	child := plan.Root.(*joincore.Aggregate).Child.(*joincore.Join)
	if _, ok := child.Right.(*joincore.Filter); !ok {
		t.Errorf("the right side is %T", child.Right)
	}
	if _, ok := got.Plan.Root.(*joincore.Aggregate).Child.(*joincore.Join).Right.(*joincore.Scan); !ok {
		t.Error("the plain form has changed")
	}
	if _, err := got.PlanFor(3); !errors.Is(err, joincore.ErrInvalid) {
		t.Errorf("kept: %v", err)
	}
}

// TestHiddenColumns: only the condition of their own input reads them.
func TestHiddenColumns(t *testing.T) {
	ok := project(ref(0, 0), join("inner", intKey, ""))
	condition := func(c string) string { return keptJob(keptInput("1", `,"condition":`+c), keptInput("1", ""), ok) }
	isNull := func(input, column int) string { return `{"is_null":{"column":` + ref(input, column) + `}}` }
	if _, err := Decode([]byte(condition(isNull(0, 2)))); err != nil {
		t.Errorf("a hidden column in its condition: %v", err)
	}
	tree := func(root string) string { return keptJob(keptInput("2", ""), keptInput("2", ""), root) }
	withFilter := func(f string) string {
		return strings.Replace(tree(ok), `"root":`, `"filters":[`+f+`],"root":`, 1)
	}
	swap := func(old, by string) string { return strings.Replace(condition(isNull(0, 2)), old, by, 1) }
	for name, c := range map[string]struct{ job, say string }{
		"a condition of another input":       {condition(isNull(1, 0)), "input 1"},
		"a condition of no column":           {condition(isNull(0, 3)), "no column"},
		"a condition of a negative column":   {condition(isNull(0, -1)), "no column"},
		"a condition of an aggregate":        {condition(isNull(2, 0)), "input 2"},
		"a condition of no parameter":        {condition(`{"compare":"=","left":{"parameter":9},"right":{"int":1}}`), "parameter 9"},
		"a condition of other types":         {condition(`{"compare":"=","left":{"column":` + ref(0, 1) + `},"right":{"int":1}}`), "integers and bytes"},
		"an empty condition":                 {condition(`{}`), "one of"},
		"a condition that is a value":        {condition(`{"int":1}`), "unknown object member"},
		"a hidden output":                    {tree(project(ref(0, 1), join("inner", intKey, ""))), "no column"},
		"a hidden key":                       {tree(project(ref(0, 0), join("inner", key(ref(0, 1), ref(1, 1), "varlena"), ""))), "no column"},
		"a hidden residual":                  {tree(project(ref(0, 0), join("inner", intKey, `,"residual":`+isNull(0, 1)))), "no column"},
		"a filter of a hidden column":        {withFilter(filter(ref(1, 1), ref(0, 0))), "no column"},
		"a filter to a hidden column":        {withFilter(filter(ref(1, 0), ref(0, 1))), "no column"},
		"all columns hidden":                 {keptJob(keptInput("3", ""), keptInput("1", ""), ok), "at least one column is fed"},
		"more columns hidden":                {keptJob(keptInput("4", ""), keptInput("1", ""), ok), "at least one column is fed"},
		"fewer than no columns hidden":       {keptJob(keptInput("-1", ""), keptInput("1", ""), ok), "hidden"},
		"half a column hidden":               {keptJob(keptInput("0.5", ""), keptInput("1", ""), ok), "hidden"},
		"a member of kept that is not known": {keptJob(keptInput("1", `,"rows":1`), keptInput("1", ""), ok), "rows"},
		"an input fed by a plan":             {swap(`"feed":"page"`, `"feed":"child"`), "feed child"},
		"a column without form":              {swap(`"form":1,`, ""), "form and scale"},
		"a column without scale":             {swap(`,"scale":2`, ""), "form and scale"},
		"a form without kept":                {swap(`,"kept":{"hidden":1,"condition":`+isNull(0, 2)+`}`, ""), "form and scale"},
		"a form that is no number":           {swap(`"form":1`, `"form":"a"`), "form"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(c.job))
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, want a malformed job that says %q", err, c.say)
			}
		})
	}
}

func FuzzPlanFor(f *testing.F) {
	ok := project(ref(0, 0), join("inner", intKey, ""))
	f.Add([]byte(keptJob(keptInput("1", `,"condition":{"is_null":{"column":`+ref(0, 2)+`}}`), keptInput("2", ""), ok)), uint64(1))
	f.Add([]byte(keptJob(keptInput("0", ""), keptInput("1", `,"condition":`+below), ok)), uint64(3))
	f.Add([]byte(job(ok)), uint64(1))
	f.Add([]byte(mirrorJob(mirrorInput(orders, `,"condition":{"is_null":{"column":`+ref(0, 2)+`}}`), pinned)), uint64(0))
	f.Add([]byte(strings.Replace(keptJob(mirrorInput(orders, ""), keptInput("1", ""), ok), `"generation":`, `"mirrors":["a",null],"generation":`, 1)), uint64(2))
	f.Fuzz(func(t *testing.T, b []byte, kept uint64) {
		j, err := Decode(b)
		if err != nil {
			return
		}
		plan, err := j.PlanFor(kept)
		if (err != nil) != (kept&^j.all()&^j.mirrored() != 0) {
			t.Fatalf("inputs %b of %b: %v", kept, j.all(), err)
		}
		if err != nil {
			plan, kept = j.Plan, 0
		}
		kept |= j.mirrored()
		for i := range j.Inputs {
			want := len(j.Inputs[i].Columns)
			if kept>>i&1 == 0 {
				want -= j.Inputs[i].Hidden
			}
			if got := len(plan.Inputs[i].Columns); got != want || got == 0 {
				t.Fatalf("inputs %b: input %d has %d columns, not %d", kept, i, got, want)
			}
		}
	})
}
