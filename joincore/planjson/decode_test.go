package planjson

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"gpujoin/joincore"
)

const (
	intColumn     = `{"attnum":1,"type":20,"typmod":-1,"collation":0,"role":"value","encoding":"fixed","width":8,"align":8}`
	varlenaColumn = `{"attnum":2,"type":25,"typmod":-1,"collation":100,"role":"value","encoding":"varlena","width":0,"align":4}`
	keyColumn     = `{"attnum":3,"type":1700,"typmod":-1,"collation":0,"role":"key","encoding":"varlena","width":0,"align":4}`
	runtimeEmpty  = `{"generation":1,"parameters":[7,null],"snapshot":"","lsn":""}`
)

// job wraps a tree over two inputs, each with an int, a varlena and a key
// column.
func job(root string) string {
	input := `{"database":1,"relation":2,"name":"public.t","feed":"page","rows":10,"row_bytes":24,"columns":[` +
		intColumn + "," + varlenaColumn + "," + keyColumn + `]}`
	return `{"version":3,"static":{"inputs":[` + input + "," + input + `],"root":` + root + `},"runtime":` + runtimeEmpty + `}`
}

func project(columns, child string) string {
	return `{"op":"project","columns":[` + columns + `],"child":` + child + `}`
}

func ref(input, column int) string { return fmt.Sprintf(`{"input":%d,"column":%d}`, input, column) }

func scan(input int) string { return fmt.Sprintf(`{"op":"scan","input":%d}`, input) }

func join(kind, keys, extra string) string {
	return `{"op":"join","kind":"` + kind + `","rows":5,"left":` + scan(0) + `,"right":` + scan(1) + `,"keys":[` + keys + `]` + extra + `}`
}

func key(left, right, class string) string {
	return `{"left":` + left + `,"right":` + right + `,"class":"` + class + `"}`
}

var intKey = key(ref(0, 0), ref(1, 0), "int")

func TestDecodeBuildsThePlan(t *testing.T) {
	residual := `,"residual":{"or":[{"not":{"is_null":{"column":` + ref(0, 1) + `}}},` +
		`{"compare":"<=","left":{"column":` + ref(1, 0) + `},"right":{"parameter":1}},` +
		`{"and":[{"compare":"<>","left":{"int":-3},"right":{"column":` + ref(0, 0) + `}}]}]}`
	got, err := Decode([]byte(job(project(ref(0, 0)+","+ref(1, 1), join("inner", intKey+","+key(ref(0, 2), ref(1, 1), "varlena"), residual)))))
	if err != nil {
		t.Fatal(err)
	}
	a, b := joincore.ColumnRef{Input: 0}, joincore.ColumnRef{Input: 1}
	want := &joincore.Join{
		Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1}, Rows: 5,
		Keys: []joincore.KeyPair{
			{Left: a, Right: b, Class: joincore.KeyInt},
			{Left: joincore.ColumnRef{Input: 0, Column: 2}, Right: joincore.ColumnRef{Input: 1, Column: 1}, Class: joincore.KeyVarlena},
		},
		Residual: &joincore.Or{Args: []joincore.Expr{
			&joincore.Not{Arg: &joincore.IsNull{Arg: joincore.ColumnRef{Input: 0, Column: 1}}},
			&joincore.Compare{Op: joincore.LessEqual, Left: b, Right: joincore.ParameterIndex(1)},
			&joincore.And{Args: []joincore.Expr{&joincore.Compare{Op: joincore.NotEqual, Left: joincore.Int(-3), Right: a}}},
		}},
	}
	if !reflect.DeepEqual(got.Plan.Root, joincore.Node(want)) {
		t.Errorf("root: got %#v", got.Plan.Root)
	}
	if want := []joincore.ColumnRef{{Input: 0}, {Input: 1, Column: 1}}; !reflect.DeepEqual(got.Plan.Output, want) {
		t.Errorf("output: got %v, want %v", got.Plan.Output, want)
	}
	if want := []joincore.Parameter{{Int: 7}, {Null: true}}; !reflect.DeepEqual(got.Plan.Parameters, want) {
		t.Errorf("parameters: got %v, want %v", got.Plan.Parameters, want)
	}
	if in := got.Inputs[1]; in.Name != "public.t" || in.Feed != "page" || !in.Columns[2].KeyOnly || in.Columns[0].Type != 20 {
		t.Errorf("input: got %+v", in)
	}
}

// named is a job whose runtime member names an algorithm.
func named(algorithm string) string {
	return strings.Replace(job(project(ref(0, 0), join("inner", intKey, ""))), `"lsn":""`, `"lsn":"","algorithm":`+algorithm, 1)
}

func TestDecodeAlgorithm(t *testing.T) {
	for _, a := range joincore.Algorithms {
		got, err := Decode([]byte(named(`"` + a.String() + `"`)))
		if err != nil || got.Plan.Algorithm != a {
			t.Errorf("%v: got %+v, %v", a, got, err)
		}
	}
	got, err := Decode([]byte(job(project(ref(0, 0), join("inner", intKey, "")))))
	if err != nil || got.Plan.Algorithm != 0 {
		t.Errorf("none: got %+v, %v", got, err)
	}
}

// texts is a job with two texts among its parameters, and a join that compares
// a column with a value.
func texts(value string) string {
	tree := join("inner", intKey, `,"residual":{"compare":"=","left":{"column":`+ref(0, 1)+`},"right":`+value+`}`)
	return strings.Replace(job(project(ref(0, 0), tree)), `"parameters":[7,null]`, `"parameters":[7,null,"6162",""]`, 1)
}

func TestDecodeTextParameters(t *testing.T) {
	for value, want := range map[string]joincore.Value{
		`{"parameter":2,"is_text":true}`: &joincore.Text{Bytes: []byte("ab")},
		`{"parameter":3,"is_text":true}`: &joincore.Text{Bytes: []byte{}},
		`{"parameter":1,"is_text":true}`: joincore.Null{},
	} {
		got, err := Decode([]byte(texts(value)))
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		residual := got.Plan.Root.(*joincore.Join).Residual.(*joincore.Compare)
		if !reflect.DeepEqual(residual.Right, want) {
			t.Errorf("%s: %v", value, residual.Right)
		}
		if len(got.Plan.Parameters) != 4 || got.Plan.Parameters[0].Int != 7 {
			t.Errorf("%s: parameters %v", value, got.Plan.Parameters)
		}
	}
}

// filters is a job with an inner join and these filters.
func filters(list string) string {
	return filtersOf(join("inner", intKey, ""), list)
}

func filtersOf(tree, list string) string {
	return strings.Replace(job(project(ref(0, 0), tree)), `"root":`, `"filters":`+list+`,"root":`, 1)
}

func filter(source, target string) string {
	return `{"source":` + source + `,"target":` + target + `}`
}

func TestDecodeFilters(t *testing.T) {
	for list, want := range map[string][]Filter{
		"[]":                                     nil,
		"[" + filter(ref(1, 0), ref(0, 0)) + "]": {{Source: joincore.ColumnRef{Input: 1}}},
		"[" + filter(ref(0, 0), ref(1, 0)) + "," + filter(ref(0, 0), ref(1, 0)) + "]": {
			{Target: joincore.ColumnRef{Input: 1}}, {Target: joincore.ColumnRef{Input: 1}}},
	} {
		got, err := Decode([]byte(filters(list)))
		if err != nil || !reflect.DeepEqual(got.Filters, want) {
			t.Errorf("%s: got %+v, %v", list, got, err)
		}
	}
	bytes := filtersOf(join("inner", key(ref(0, 1), ref(1, 1), "varlena"), ""), "["+filter(ref(1, 1), ref(0, 1))+"]")
	if _, err := Decode([]byte(bytes)); err != nil {
		t.Errorf("a filter of bytes: %v", err)
	}
}

// TestDocumentedExample keeps docs/internals/job.md true: the tree it shows has the
// shape that the decoder takes.
func TestDocumentedExample(t *testing.T) {
	doc, err := os.ReadFile("../../docs/internals/job.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```json\n")
	if !ok {
		t.Fatal("docs/internals/job.md has no example")
	}
	example, _, _ := strings.Cut(rest, "```")
	// The example shows one input of two; the decoder must get as far as that.
	_, err = Decode([]byte(example))
	if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "input that does not exist") {
		t.Errorf("the example fails for another reason than its missing input: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	ok := join("inner", intKey, "")
	cases := map[string]struct{ job, say string }{
		"nothing":                 {"", "EOF"},
		"no object":               {"[]", "malformed"},
		"trailing bytes":          {job(project("", ok)) + "{}", "after top-level value"},
		"cut":                     {job(project("", ok))[:200], "malformed"},
		"invalid UTF-8":           {"{\"version\":1,\"x\":\"\xff\"}", "UTF-8"},
		"NaN":                     {strings.Replace(job(project("", ok)), `"rows":10`, `"rows":NaN`, 1), "malformed"},
		"huge number":             {strings.Replace(job(project("", ok)), `"rows":10`, `"rows":1e400`, 1), "malformed"},
		"negative rows":           {strings.Replace(job(project("", ok)), `"rows":10`, `"rows":-1`, 1), "rows"},
		"unknown member":          {strings.Replace(job(project("", ok)), `"rows":10`, `"rows":10,"extra":1`, 1), "extra"},
		"member in other letters": {strings.Replace(job(project("", ok)), `"rows":10`, `"rows":10,"row\u017f":1`, 1), "unknown object member"},
		"member in upper case":    {strings.Replace(job(project("", ok)), `"rows":10`, `"ROWS":10`, 1), "unknown object member"},
		"duplicate member":        {strings.Replace(job(project("", ok)), `"rows":10`, `"rows":10,"rows":11`, 1), "duplicate"},
		"depth":                   {strings.Repeat("[", 100000), "deeper"},
		"depth of objects":        {strings.Repeat(`{"child":`, 100000), "deeper"},
		"no inputs":               {`{"version":3,"static":{"inputs":[],"root":{}},"runtime":` + runtimeEmpty + `}`, "inputs"},
		"no runtime":              {`{"version":3,"static":{"inputs":[],"root":{}}}`, "required"},
		"root is a join":          {job(ok), "project"},
		"project below":           {job(project("", project("", ok))), "only at the root"},
		"unknown operator":        {job(project("", `{"op":"sort"}`)), "unknown operator"},
		"member of another operator": {
			job(project("", `{"op":"scan","input":0,"kind":"inner"}`)), "no member"},
		"scan out of range": {job(project("", scan(2))), "does not exist"},
		"scan negative":     {job(project("", scan(-1))), "does not exist"},
		"scanned twice": {
			job(project("", strings.Replace(ok, `"input":1}`, `"input":0}`, 1))), "twice"},
		"not scanned":   {job(project("", scan(0))), "not scanned"},
		"unknown kind":  {job(project("", join("natural", intKey, ""))), "kind"},
		"no keys":       {job(project("", join("inner", "", ""))), "keys"},
		"sides swapped": {job(project("", join("inner", key(ref(1, 0), ref(0, 0), "int"), ""))), "not below"},
		"column out of range": {
			job(project("", join("inner", key(ref(0, 3), ref(1, 0), "int"), ""))), "no column"},
		"column negative": {
			job(project("", join("inner", key(ref(0, -1), ref(1, 0), "int"), ""))), "no column"},
		"class of other columns": {
			job(project("", join("inner", key(ref(0, 0), ref(1, 1), "int"), ""))), "cannot compare"},
		"unknown class":      {job(project("", join("inner", key(ref(0, 0), ref(1, 0), "float"), ""))), "cannot compare"},
		"output of key form": {job(project(ref(0, 2), ok)), "role key"},
		"output of the right side of a semi join": {
			job(project(ref(1, 0), join("semi", intKey, ""))), "not below"},
		"predicate on varlena": {
			job(project("", join("inner", intKey, `,"residual":{"compare":"=","left":{"column":`+ref(0, 1)+`},"right":{"int":1}}`))), "integers and bytes"},
		"parameter out of range": {
			job(project("", join("inner", intKey, `,"residual":{"compare":"=","left":{"parameter":2},"right":{"int":1}}`))), "parameter 2"},
		"expression of two kinds": {
			job(project("", join("inner", intKey, `,"residual":{"not":{"is_null":{"column":`+ref(0, 0)+`}},"is_null":{"column":`+ref(0, 0)+`}}`))), "one of"},
		"filters without end":     {filters("[" + strings.Repeat(filter(ref(1, 0), ref(0, 0))+",", 64) + filter(ref(1, 0), ref(0, 0)) + "]"), "at most 64"},
		"filter without a source": {filters(`[{"target":` + ref(0, 0) + `}]`), "source"},
		"filter without a target": {filters(`[{"source":` + ref(0, 0) + `}]`), "target"},
		"filter with more":        {filters(`[{"source":` + ref(1, 0) + `,"target":` + ref(0, 0) + `,"kind":1}]`), "kind"},
		"filter of no input":      {filters("[" + filter(ref(2, 0), ref(0, 0)) + "]"), "no input 2"},
		"filter of no column":     {filters("[" + filter(ref(1, 3), ref(0, 0)) + "]"), "no column"},
		"filter of itself":        {filters("[" + filter(ref(0, 0), ref(0, 0)) + "]"), "part of the result"},
		"filter of columns not joined": {
			filters("[" + filter(ref(1, 0), ref(0, 1)) + "]"), "part of the result"},
		"filter of a preserved side": {
			filtersOf(join("left", intKey, ""), "["+filter(ref(1, 0), ref(0, 0))+"]"), "part of the result"},
		"filter of a column of another key": {
			filtersOf(join("inner", key(ref(0, 1), ref(1, 1), "varlena"), ""), "["+filter(ref(1, 0), ref(0, 0))+"]"), "part of the result"},
		"a text as an integer": {texts(`{"parameter":2}`), "another type"},
		"an integer as a text": {texts(`{"parameter":0,"is_text":true}`), "another type"},
		"no such text":         {texts(`{"parameter":4,"is_text":true}`), "no parameter 4"},
		"is_text alone":        {texts(`{"text":"61","is_text":true}`), "only parameter"},
		"a text that is no hexadecimal number": {
			strings.Replace(texts(`{"parameter":2,"is_text":true}`), `"6162"`, `"6x"`, 1), "runtime.parameters[2]"},
		"filters in a circle": {
			filters("[" + filter(ref(1, 0), ref(0, 0)) + "," + filter(ref(0, 0), ref(1, 0)) + "]"), "its own source"},
		"unknown algorithm":       {named(`"merge"`), "unknown algorithm"},
		"algorithm in upper case": {named(`"NPJ"`), "unknown algorithm"},
		"no algorithm's name":     {named(`""`), "unknown algorithm"},
		"automatic algorithm":     {named(`"auto"`), "unknown algorithm"},
		"algorithm by number":     {named(`1`), "malformed"},
		"empty and":               {job(project("", join("inner", intKey, `,"residual":{"and":[]}`))), "at least one"},
		"width":                   {strings.Replace(job(project("", ok)), `"width":8,`, `"width":3,`, 1), "width"},
		"wide":                    {strings.Replace(job(project("", ok)), `"width":8,`, `"width":65536,`, 1), "width"},
		"align":                   {strings.Replace(job(project("", ok)), `"align":8`, `"align":3`, 1), "align"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(c.job))
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, want a malformed job that says %q", err, c.say)
			}
		})
	}
}

func TestDecodeRefusesOtherVersions(t *testing.T) {
	for _, v := range []string{"0", "1", "2", "4", "-1"} {
		_, err := Decode([]byte(`{"version":` + v + `,"future":{"a":1}}`))
		if !errors.Is(err, ErrVersion) {
			t.Errorf("version %s: got %v", v, err)
		}
	}
}

// TestDecodeBoundsItsWork: hostile sizes are refused before anything is built.
func TestDecodeBoundsItsWork(t *testing.T) {
	for name, b := range map[string][]byte{
		"long string": []byte(`{"version":3,"s":"` + strings.Repeat("a", 100<<20) + `"}`),
		"many nodes":  []byte(`{"version":3,"static":{"inputs":[` + strings.Repeat("{},", 300000) + `{}]}}`),
	} {
		n := testing.AllocsPerRun(1, func() {
			if _, err := Decode(b); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: got %v", name, err)
			}
		})
		if len(b) > MaxBytes && n > 20 {
			t.Errorf("%s: %v allocations before the size was refused", name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	ok := join("inner", intKey, `,"residual":{"compare":"<","left":{"column":`+ref(0, 0)+`},"right":{"int":1}}`)
	f.Add([]byte(job(project(ref(0, 0), ok))))
	f.Add([]byte(job(project(ref(0, 0), `{"op":"filter","child":`+ok+`,"predicate":{"is_null":{"column":`+ref(1, 1)+`}}}`))))
	f.Add([]byte(filters("[" + filter(ref(1, 0), ref(0, 0)) + "]")))
	f.Add([]byte(named(`"smj-om"`)))
	f.Add([]byte(named(`"merge"`)))
	f.Add([]byte(`{"version":4}`))
	for text := range values {
		f.Add([]byte(filtered(equals(text))))
	}
	for text := range conditions {
		f.Add([]byte(filtered(text)))
	}
	f.Add([]byte(aggregated(ref(2, 0), all, "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := Decode(b[:len(b):len(b)])
		if (j == nil) == (err == nil) {
			t.Fatalf("job %v with error %v", j, err)
		}
		if err == nil {
			for _, r := range j.Plan.Output {
				if r.Input < len(j.Plan.Inputs) {
					_ = j.Plan.Inputs[r.Input].Columns[r.Column] // in bounds
				}
			}
		}
	})
}
