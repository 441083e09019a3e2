package planjson

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"gpujoin/joincore"
)

// filtered is a job with a condition above a join.
func filtered(condition string) string {
	return job(project("", `{"op":"filter","child":`+join("inner", intKey, "")+`,"predicate":`+condition+`}`))
}

// equals is a condition about a value.
func equals(value string) string { return `{"compare":"=","left":` + value + `,"right":{"int":1}}` }

var (
	n    = joincore.ColumnRef{Input: 0}
	s    = joincore.ColumnRef{Input: 1, Column: 1}
	nRef = `{"column":` + ref(0, 0) + `}`
	sRef = `{"column":` + ref(1, 1) + `}`
)

var values = map[string]joincore.Value{
	nRef:                            n,
	`{"decimal":` + ref(0, 0) + `}`: joincore.Decimal{Column: n},
	`{"int":-9223372036854775808}`:  joincore.Int(-1 << 63),
	`{"null":4}`:                    joincore.Null{Width: 4},
	`{"parameter":1}`:               joincore.ParameterIndex(1),
	`{"fn":"+","width":8,"args":[` + nRef + `,{"int":1}]}`: &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: n, Right: joincore.Int(1)},
	`{"fn":"-","width":4,"args":[{"int":1},{"int":2}]}`:    &joincore.Arithmetic{Op: joincore.Subtract, Width: 4, Left: joincore.Int(1), Right: joincore.Int(2)},
	`{"fn":"*","width":16,"args":[{"int":1},{"int":2}]}`:   &joincore.Arithmetic{Op: joincore.Multiply, Width: 16, Left: joincore.Int(1), Right: joincore.Int(2)},
	`{"fn":"/","width":2,"args":[{"int":1},{"int":2}]}`:    &joincore.Arithmetic{Op: joincore.Divide, Width: 2, Left: joincore.Int(1), Right: joincore.Int(2)},
	`{"fn":"%","width":8,"args":[{"int":1},{"int":2}]}`:    &joincore.Arithmetic{Op: joincore.Modulo, Width: 8, Left: joincore.Int(1), Right: joincore.Int(2)},
	`{"fn":"year","args":[` + nRef + `]}`:                  &joincore.DatePart{Part: joincore.Year, Arg: n},
	`{"fn":"month","args":[` + nRef + `]}`:                 &joincore.DatePart{Part: joincore.Month, Arg: n},
	`{"fn":"day","args":[` + nRef + `]}`:                   &joincore.DatePart{Part: joincore.Day, Arg: n},
	`{"fn":"coalesce","args":[` + nRef + `,{"int":0}]}`:    &joincore.Coalesce{Args: []joincore.Value{n, joincore.Int(0)}},
	`{"truth":{"is_null":` + sRef + `}}`:                   &joincore.Truth{Arg: &joincore.IsNull{Arg: s}},
	`{"case":[{"when":{"is_null":` + sRef + `},"then":{"int":1}}],"else":{"int":2}}`: &joincore.Case{
		Whens: []joincore.When{{Condition: &joincore.IsNull{Arg: s}, Then: joincore.Int(1)}}, Else: joincore.Int(2),
	},
}

var conditions = map[string]joincore.Expr{
	`{"in":` + nRef + `,"ints":[1,-2],"null":true}`: &joincore.In{Arg: n, Ints: []int64{1, -2}, Null: true},
	`{"in":` + sRef + `,"texts":["61",""]}`:         &joincore.In{Arg: s, Texts: [][]byte{[]byte("a"), {}}},
	`{"like":` + sRef + `,"pattern":"6125","encoding":"utf8"}`: &joincore.Like{
		Arg: s, Pattern: []byte("a%"), Encoding: joincore.UTF8,
	},
	`{"compare":"<","left":{"fn":"substring","args":[` + sRef + `],"from":-1,"for":2,"encoding":"single"},"right":{"text":"6162"}}`: &joincore.Compare{
		Op:    joincore.Less,
		Left:  &joincore.Substring{Arg: s, From: -1, For: 2, Characters: joincore.SingleByte},
		Right: &joincore.Text{Bytes: []byte("ab")},
	},
}

func TestDecodeValues(t *testing.T) {
	all := map[string]joincore.Expr{}
	for text, v := range values {
		all[equals(text)] = &joincore.Compare{Op: joincore.Equal, Left: v, Right: joincore.Int(1)}
	}
	for text, c := range conditions {
		all[text] = c
	}
	for text, want := range all {
		got, err := Decode([]byte(filtered(text)))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if c := got.Plan.Root.(*joincore.Filter).Predicate; !reflect.DeepEqual(c, want) {
			t.Errorf("%s: got %#v", text, c)
		}
	}
}

func TestDecodeRefusesValues(t *testing.T) {
	for name, c := range map[string]struct{ condition, say string }{
		"no kind":                     {equals(`{}`), "a value is one of"},
		"two kinds":                   {equals(`{"int":1,"null":4}`), "a value is one of"},
		"null for a value":            {equals(`null`), "a value is missing"},
		"NULL of another width":       {equals(`{"null":3}`), "NULL of width 3"},
		"unknown function":            {equals(`{"fn":"sqrt","args":[{"int":1}]}`), "no function"},
		"too few arguments":           {equals(`{"fn":"+","width":8,"args":[{"int":1}]}`), "no function"},
		"no width":                    {equals(`{"fn":"+","args":[{"int":1},{"int":1}]}`), "width"},
		"width of 1":                  {equals(`{"fn":"+","width":1,"args":[{"int":1},{"int":1}]}`), "width 1"},
		"width of a year":             {equals(`{"fn":"year","width":4,"args":[{"int":1}]}`), "width"},
		"arguments without function":  {equals(`{"int":1,"args":[]}`), "only fn"},
		"coalesce of nothing":         {equals(`{"fn":"coalesce","args":[]}`), "no values"},
		"case without else":           {equals(`{"case":[{"when":{"is_null":{"int":1}},"then":{"int":1}}]}`), "else"},
		"else without case":           {equals(`{"int":1,"else":{"int":1}}`), "else"},
		"case without arms":           {equals(`{"case":[],"else":{"int":1}}`), "no arms"},
		"case of two types":           {equals(`{"case":[{"when":{"is_null":{"int":1}},"then":{"text":""}}],"else":{"int":1}}`), "integers and bytes"},
		"arithmetic of bytes":         {equals(`{"fn":"+","width":8,"args":[` + sRef + `,{"int":1}]}`), "bytes where"},
		"decimal of bytes":            {equals(`{"decimal":` + ref(1, 1) + `}`), "decimal"},
		"odd hex":                     {`{"is_null":{"text":"616"}}`, "hex"},
		"no hex":                      {`{"is_null":{"text":"xy"}}`, "hex"},
		"substring of an integer":     {`{"is_null":{"fn":"substring","args":[{"int":1}],"from":1,"for":1,"encoding":"utf8"}}`, "an integer where"},
		"substring without bounds":    {`{"is_null":{"fn":"substring","args":[` + sRef + `],"encoding":"utf8"}}`, "from, for"},
		"bounds beyond an integer":    {`{"is_null":{"fn":"substring","args":[` + sRef + `],"from":3000000000,"for":1,"encoding":"utf8"}}`, "malformed"},
		"unknown encoding":            {`{"like":` + sRef + `,"pattern":"","encoding":"latin1"}`, "encoding"},
		"pattern that ends in escape": {`{"like":` + sRef + `,"pattern":"615c","encoding":"utf8"}`, "escape"},
		"like without pattern":        {`{"like":` + sRef + `,"encoding":"utf8"}`, "pattern"},
		"pattern without like":        {`{"is_null":` + sRef + `,"pattern":""}`, "only like"},
		"ints and texts":              {`{"in":` + nRef + `,"ints":[],"texts":[]}`, "not both"},
		"list of another type":        {`{"in":` + sRef + `,"ints":[1]}`, "another type"},
		"list without in":             {`{"is_null":` + sRef + `,"ints":[]}`, "only in"},
		"comparison of one side":      {`{"compare":"=","left":{"int":1}}`, "missing"},
		"too many objects":            {`{"is_null":{"fn":"coalesce","args":[{"int":1}` + strings.Repeat(`,{"int":1}`, MaxObjects) + `]}}`, "objects"},
		"too deep":                    {strings.Repeat(`{"not":`, MaxDepth) + `{"is_null":{"int":1}}` + strings.Repeat("}", MaxDepth), "deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(filtered(c.condition)))
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, want a malformed job that says %q", err, c.say)
			}
		})
	}
}

// aggregated is a job with an aggregate above a join, and what stands above it.
func aggregated(columns, members, above string) string {
	a := `{"op":"aggregate","id":2,"rows":10,` + members + `,"child":` + join("inner", intKey, "") + `}`
	if above != "" {
		a = `{"op":"filter","child":` + a + `,"predicate":` + above + `}`
	}
	return job(project(columns, a))
}

const all = `"keys":[{"column":{"input":0,"column":0}},{"fn":"year","args":[{"column":{"input":0,"column":0}}]}],"carry":[{"input":0,"column":1}],` +
	`"functions":[{"fn":"count"},{"fn":"sum","arg":{"column":{"input":0,"column":0}},"distinct":true,"filter":{"is_null":{"column":{"input":1,"column":1}}}},` +
	`{"fn":"min","arg":{"column":{"input":1,"column":1}}},{"fn":"max","arg":{"int":1}},{"fn":"bool_and","arg":{"int":1}},{"fn":"bool_or","arg":{"int":1}},{"fn":"sum_squares","arg":{"int":1}},
	{"fn":"sum_float8","arg":{"int":1}},{"fn":"sum_float4","arg":{"int":1}},{"fn":"avg_float","arg":{"int":1}}]`

func TestDecodeAggregate(t *testing.T) {
	having := equals(`{"column":` + ref(2, 4) + `}`) // the sum, of 16 bytes
	got, err := Decode([]byte(aggregated(ref(2, 0)+","+ref(2, 2)+","+ref(2, 9), all, having)))
	if err != nil {
		t.Fatal(err)
	}
	a := got.Plan.Root.(*joincore.Filter).Child.(*joincore.Aggregate)
	if a.Child == nil {
		t.Fatal("no child")
	}
	a.Child = nil
	want := &joincore.Aggregate{
		ID: 2, Rows: 10, Keys: []joincore.Value{n, &joincore.DatePart{Part: joincore.Year, Arg: n}},
		Carry: []joincore.ColumnRef{{Input: 0, Column: 1}},
		Functions: []joincore.Function{
			{Kind: joincore.Count},
			{Kind: joincore.Sum, Arg: n, Distinct: true, Filter: &joincore.IsNull{Arg: s}},
			{Kind: joincore.Min, Arg: s},
			{Kind: joincore.Max, Arg: joincore.Int(1)},
			{Kind: joincore.BoolAnd, Arg: joincore.Int(1)},
			{Kind: joincore.BoolOr, Arg: joincore.Int(1)},
			{Kind: joincore.SumOfSquares, Arg: joincore.Int(1)},
			{Kind: joincore.SumFloat8, Arg: joincore.Int(1)},
			{Kind: joincore.SumFloat4, Arg: joincore.Int(1)},
			{Kind: joincore.AverageFloat, Arg: joincore.Int(1)},
		},
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("got %#v", a)
	}
}

func TestDecodeRefusesAggregates(t *testing.T) {
	for name, c := range map[string]struct{ job, say string }{
		"no columns":               {aggregated("", `"keys":[]`, ""), "1 to"},
		"carried without keys":     {aggregated(ref(2, 0), `"keys":[],"carry":[`+ref(0, 1)+`],"functions":[{"fn":"count"}]`, ""), "without keys"},
		"id of an input":           {strings.Replace(aggregated("", all, ""), `"id":2`, `"id":1`, 1), "id of"},
		"no id":                    {strings.Replace(aggregated("", all, ""), `"id":2,`, ``, 1), "id of"},
		"an input below":           {aggregated(ref(0, 0), all, ""), "not below"},
		"a column that is missing": {aggregated(ref(2, 13), all, ""), "no column 13"},
		"another aggregate":        {aggregated(ref(3, 0), all, ""), "not below"},
		"a key form": {
			aggregated(ref(2, 0), `"keys":[{"column":`+ref(0, 2)+`}]`, ""), "role key"},
		"a carried key form": {
			aggregated(ref(2, 1), `"keys":[{"int":1}],"carry":[`+ref(0, 2)+`]`, ""), "role key"},
		"an unknown function":   {aggregated("", `"functions":[{"fn":"avg","arg":{"int":1}}]`, ""), "unknown function"},
		"a sum of nothing":      {aggregated("", `"functions":[{"fn":"sum"}]`, ""), "without an argument"},
		"a sum of bytes":        {aggregated("", `"functions":[{"fn":"sum","arg":`+sRef+`}]`, ""), "of bytes"},
		"distinct floats":       {aggregated("", `"functions":[{"fn":"sum_float8","arg":{"int":1},"distinct":true}]`, ""), "distinct"},
		"a wide float":          {aggregated("", `"functions":[{"fn":"avg_float","arg":{"null":16}}]`, ""), "16 bytes"},
		"distinct minima":       {aggregated("", `"functions":[{"fn":"min","arg":{"int":1},"distinct":true}]`, ""), "distinct"},
		"a wide key":            {aggregated("", `"keys":[{"null":16}]`, ""), "16 bytes"},
		"a join's key":          {aggregated("", `"keys":[`+intKey+`]`, ""), "unknown object member"},
		"negative rows":         {strings.Replace(aggregated("", all, ""), `"rows":10,"keys`, `"rows":-1,"keys`, 1), "rows"},
		"bytes of 32 as number": {aggregated("", all, equals(`{"column":`+ref(2, 9)+`}`)), "no integer"},
		"members of a join":     {strings.Replace(aggregated("", all, ""), `"id":2`, `"id":2,"kind":"inner"`, 1), "no member"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(c.job))
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, want a malformed job that says %q", err, c.say)
			}
		})
	}
}

// TestDocumentedExpressions decodes every value, condition and aggregate that
// docs/internals/job.md shows in the first column of its tables.
func TestDocumentedExpressions(t *testing.T) {
	doc, err := os.ReadFile("../../docs/internals/job.md")
	if err != nil {
		t.Fatal(err)
	}
	decoded := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\{[^`]*\\})` \\|").FindAllStringSubmatch(string(doc), -1) {
		text := m[1]
		// a and b stand for integers, s for bytes, and c for a condition.
		for from, to := range map[string]string{
			`: a`: `:{"int":1}`, `[a]`: `[{"int":1}]`, `[a, b]`: `[{"int":1},{"int":2}]`, `: b`: `:{"int":2}`,
			`: s`: `:` + sRef, `[s]`: `[` + sRef + `]`, `: c`: `:{"is_null":{"int":1}}`, `[c, `: `[{"is_null":{"int":1}}, `, `...]`: `{"is_null":{"int":1}}]`,
		} {
			text = strings.ReplaceAll(text, from, to)
		}
		text = regexp.MustCompile(`"input": 0, "column": 1`).ReplaceAllString(text, `"input":0,"column":0`)
		if _, err := Decode([]byte(filtered(text))); err != nil {
			if _, err2 := Decode([]byte(filtered(`{"is_null":` + text + `}`))); err2 != nil {
				if _, err3 := Decode([]byte(aggregated("", `"functions":[`+text+`]`, ""))); err3 != nil {
					t.Errorf("%s: no condition (%v), no value (%v), no function (%v)", text, err, err2, err3)
				}
			}
		}
		decoded++
	}
	if decoded < 20 {
		t.Errorf("only %d expressions found", decoded)
	}
}
