package planjson

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"gpujoin/joincore"
)

const orders = `"mirror":{"schema":"public","table":"orders","columns":["id","text","key"],"text":[1]}`

// mirrorInput is a mirrored input with an int, a varlena and a key column, the last one hidden.
func mirrorInput(mirror, condition string) string {
	in := strings.Replace(keptInput("1", condition), `"feed":"page"`, `"feed":"mirror"`, 1)
	return strings.TrimSuffix(in, "}") + "," + mirror + "}"
}

// mirrorJob is a job of one input without a join.
func mirrorJob(input, runtime string) string {
	return `{"version":3,"static":{"inputs":[` + input + `],"root":` + project(ref(0, 0), `{"op":"scan","input":0}`) +
		`},"runtime":` + strings.TrimSuffix(runtimeEmpty, "}") + runtime + `}}`
}

const pinned = `,"mirrors":["0123456789abcdef"]`

func TestMirroredInput(t *testing.T) {
	isNull := `{"is_null":{"column":` + ref(0, 2) + `}}`
	got, err := Decode([]byte(mirrorJob(mirrorInput(orders, `,"condition":`+isNull), pinned+`,"sample":{"rows":300,"seed":7}`)))
	if err != nil {
		t.Fatal(err)
	}
	in := got.Inputs[0]
	want := &Mirror{"public", "orders", []string{"id", "text", "key"}, []bool{false, true, false}, "0123456789abcdef"}
	if !reflect.DeepEqual(in.Mirror, want) || in.Kept || in.Hidden != 1 || *got.Sample != (Sample{300, 7}) {
		t.Errorf("%+v, mirror %+v, sample %+v", in, in.Mirror, got.Sample)
	}
	f, ok := got.Plan.Root.(*joincore.Filter)
	if !ok || len(got.Plan.Inputs[0].Columns) != 3 || !reflect.DeepEqual(f.Predicate, &joincore.IsNull{Arg: joincore.ColumnRef{Column: 2}}) {
		t.Errorf("the plan is %+v of %d columns", got.Plan.Root, len(got.Plan.Inputs[0].Columns))
	}
	for _, mask := range []uint64{0, 1} {
		if plan, err := got.PlanFor(mask); err != nil || plan != got.Plan {
			t.Errorf("mask %b: another plan, %v", mask, err)
		}
	}
	if passing, err := got.Passing(0, 1); err != nil || len(passing.Inputs[0].Columns) != 3 {
		t.Errorf("passing: %+v, %v", passing, err)
	}
}

// TestMirroredAndKept: a mirrored input has all its columns, whatever is kept of the other.
func TestMirroredAndKept(t *testing.T) {
	text := keptJob(mirrorInput(orders, ""), keptInput("1", `,"condition":`+below), project(ref(0, 0), join("inner", intKey, "")))
	text = strings.Replace(text, `"generation":`, `"mirrors":["a",null],"generation":`, 1)
	got, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for mask, columns := range map[uint64]int{0: 2, 1: 2, 2: 3, 3: 3} {
		plan, err := got.PlanFor(mask)
		if err != nil || len(plan.Inputs[0].Columns) != 3 || len(plan.Inputs[1].Columns) != columns {
			t.Errorf("mask %b: %+v, %v", mask, plan, err)
		}
	}
	if _, err := got.PlanFor(4); !errors.Is(err, joincore.ErrInvalid) {
		t.Errorf("an input that does not exist: %v", err)
	}
}

func TestMalformedMirrors(t *testing.T) {
	ok := mirrorInput(orders, "")
	for name, c := range map[string]struct{ job, say string }{
		"no mirror":                {mirrorJob(strings.Replace(ok, ","+orders, "", 1), pinned), "mirror"},
		"a page feed with one":     {mirrorJob(strings.Replace(ok, `"feed":"mirror"`, `"feed":"page"`, 1), pinned), "mirror"},
		"no kept":                  {mirrorJob(strings.Replace(strings.ReplaceAll(ok, `,"form":1,"scale":2`, ""), `"kept":{"hidden":1},`, "", 1), pinned), "kept"},
		"an empty table":           {mirrorJob(strings.Replace(ok, `"orders"`, `""`, 1), pinned), "empty"},
		"an empty schema":          {mirrorJob(strings.Replace(ok, `"schema":"public"`, `"schema":""`, 1), pinned), "empty"},
		"too few names":            {mirrorJob(strings.Replace(ok, `"id",`, "", 1), pinned), "2 names"},
		"an empty name":            {mirrorJob(strings.Replace(ok, `"id"`, `""`, 1), pinned), "columns[0]"},
		"a text of no column":      {mirrorJob(strings.Replace(ok, `[1]}`, `[3]}`, 1), pinned), "text[0]"},
		"a text twice":             {mirrorJob(strings.Replace(ok, `[1]}`, `[1,1]}`, 1), pinned), "text[1]"},
		"a negative text":          {mirrorJob(strings.Replace(ok, `[1]}`, `[-1]}`, 1), pinned), "text[0]"},
		"an unknown member":        {mirrorJob(strings.Replace(ok, `"table"`, `"tabel"`, 1), pinned), "tabel"},
		"no tokens":                {mirrorJob(ok, ""), "token"},
		"a token of null":          {mirrorJob(ok, `,"mirrors":[null]`), "token"},
		"an empty token":           {mirrorJob(ok, `,"mirrors":[""]`), "1 to 64"},
		"a long token":             {mirrorJob(ok, `,"mirrors":["`+strings.Repeat("a", 65)+`"]`), "1 to 64"},
		"too many tokens":          {mirrorJob(ok, `,"mirrors":["a","b"]`), "2 entries"},
		"a token of a fed input":   {mirrorJob(keptInput("1", ""), pinned), "input 0"},
		"a sample of a fed input":  {mirrorJob(keptInput("1", ""), `,"sample":{"rows":1,"seed":1}`), "no mirrored input"},
		"a sample of no rows":      {mirrorJob(ok, pinned+`,"sample":{"rows":0,"seed":1}`), "sample.rows"},
		"a sample of all the rows": {mirrorJob(ok, pinned+`,"sample":{"rows":1000000000,"seed":1}`), "sample.rows"},
		"a returned hidden column": {strings.Replace(mirrorJob(ok, pinned), `"columns":[`+ref(0, 0)+`],"child"`, `"columns":[`+ref(0, 2)+`],"child"`, 1), "no column 2"},
		"another input's column":   {mirrorJob(mirrorInput(orders, `,"condition":{"is_null":{"column":`+ref(1, 0)+`}}`), pinned), "input 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode([]byte(c.job)); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v, which does not say %q", err, c.say)
			}
		})
	}
}
