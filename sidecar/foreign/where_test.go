package foreign

import (
	"math"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/encode"
)

// whereColumns are a column of each type that conditions on the source know, and others.
var whereColumns = []Column{
	{Name: "i", Type: 23}, {Name: "p", Type: 1700, Typmod: 10<<16 + 2 + 4, Form: int(encode.Decimal), Scale: 2}, {Name: "d", Type: 1082},
	{Name: "ts", Type: 1114}, {Name: "tz", Type: 1184}, {Name: "b", Type: 16}, {Name: "t\"x", Type: 25}, {Name: "c", Type: 1042, Form: int(encode.BpcharKey)},
	{Name: "e", Type: 16400, Text: true}, {Name: "f", Type: 701, Form: int(encode.FloatOrder)}, {Name: "k", Type: 1082, Form: int(encode.DateKey)},
}

func TestWhere(t *testing.T) {
	ref := func(name string) joincore.ColumnRef {
		for i, c := range whereColumns {
			if c.Name == name {
				return joincore.ColumnRef{Column: i}
			}
		}
		panic(name)
	}
	compare := func(op joincore.CompareOp, l, r joincore.Value) joincore.Expr {
		return &joincore.Compare{Op: op, Left: l, Right: r}
	}
	less := func(name string, v int64) joincore.Expr { return compare(joincore.Less, ref(name), joincore.Int(v)) }
	text := func(s string) *joincore.Text { return &joincore.Text{Bytes: []byte(s)} }
	all := func(args ...joincore.Expr) joincore.Expr { return &joincore.And{Args: args} }
	either := func(args ...joincore.Expr) joincore.Expr { return &joincore.Or{Args: args} }
	not := func(e joincore.Expr) joincore.Expr { return &joincore.Not{Arg: e} }
	unknown := compare(joincore.Equal, ref("i"), &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: ref("i"), Right: joincore.Int(1)})
	const i7 = `("i"::pg_catalog.int4 OPERATOR(pg_catalog.<) '7'::pg_catalog.int8)`
	for name, c := range map[string]struct {
		e    joincore.Expr
		want string
	}{
		"none":                  {nil, ""},
		"an integer":            {less("i", 7), i7},
		"on the other side":     {compare(joincore.GreaterEqual, joincore.Int(-7), ref("i")), `("i"::pg_catalog.int4 OPERATOR(pg_catalog.<=) '-7'::pg_catalog.int8)`},
		"a parameter":           {compare(joincore.Equal, ref("i"), joincore.ParameterIndex(0)), `("i"::pg_catalog.int4 OPERATOR(pg_catalog.=) '42'::pg_catalog.int8)`},
		"a NULL parameter":      {compare(joincore.Equal, ref("i"), joincore.ParameterIndex(1)), ""},
		"a decimal":             {compare(joincore.Less, joincore.Decimal{Column: ref("p")}, joincore.Int(-5)), `("p"::pg_catalog.numeric(10,2) OPERATOR(pg_catalog.<) '-0.05'::pg_catalog.numeric)`},
		"a larger decimal":      {less("p", 12345), `("p"::pg_catalog.numeric(10,2) OPERATOR(pg_catalog.<) '123.45'::pg_catalog.numeric)`},
		"a date":                {less("d", -1), `("d"::pg_catalog.date OPERATOR(pg_catalog.<) '1999-12-31'::pg_catalog.date)`},
		"a date before Christ":  {less("d", -800000), `("d"::pg_catalog.date OPERATOR(pg_catalog.<) '0192-09-04 BC'::pg_catalog.date)`},
		"the last date":         {less("d", math.MaxInt32), ""},
		"a timestamp":           {less("ts", 86400000001), `("ts"::pg_catalog.timestamp OPERATOR(pg_catalog.<) '2000-01-02 00:00:00.000001'::pg_catalog.timestamp)`},
		"a timestamp of a zone": {less("tz", -1), `("tz"::pg_catalog.timestamptz OPERATOR(pg_catalog.<) '1999-12-31 23:59:59.999999+00'::pg_catalog.timestamptz)`},
		"infinity":              {less("ts", math.MaxInt64), ""},
		"a boolean":             {compare(joincore.Equal, ref("b"), joincore.Int(1)), `("b"::pg_catalog.bool OPERATOR(pg_catalog.=) true)`},
		"a text":                {compare(joincore.Equal, ref("t\"x"), text(`it's a \`)), `("t""x"::pg_catalog.text OPERATOR(pg_catalog.=) E'it\'s a \\'::pg_catalog.text)`},
		"an order of texts":     {compare(joincore.Less, ref("t\"x"), text("a")), ""},
		"another text":          {compare(joincore.NotEqual, ref("t\"x"), text("a")), ""},
		"a text of others":      {compare(joincore.Equal, ref("t\"x"), text("ä")), ""},
		"char(n)":               {compare(joincore.Equal, ref("c"), text("a")), `("c"::pg_catalog.bpchar OPERATOR(pg_catalog.=) E'a'::pg_catalog.bpchar)`},
		"a type as text":        {compare(joincore.Equal, ref("e"), text("a")), ""},
		"a float's order":       {less("f", 5), ""},
		"a date's key":          {less("k", 5), ""},
		"NULL":                  {&joincore.IsNull{Arg: ref("e")}, `("e"::pg_catalog.text IS NULL)`},
		"no NULL":               {not(&joincore.IsNull{Arg: ref("i")}), `NOT ("i"::pg_catalog.int4 IS NULL)`},
		"a list":                {&joincore.In{Arg: ref("d"), Ints: []int64{0, 1}}, `("d"::pg_catalog.date OPERATOR(pg_catalog.=) ANY (ARRAY['2000-01-01'::pg_catalog.date, '2000-01-02'::pg_catalog.date]))`},
		"a list of texts":       {&joincore.In{Arg: ref("c"), Texts: [][]byte{[]byte("x")}}, `("c"::pg_catalog.bpchar OPERATOR(pg_catalog.=) ANY (ARRAY[E'x'::pg_catalog.bpchar]))`},
		"an empty list":         {&joincore.In{Arg: ref("i")}, ""},
		"a list with others":    {&joincore.In{Arg: ref("c"), Texts: [][]byte{[]byte("x"), []byte("ä")}}, ""},
		"a long list":           {&joincore.In{Arg: ref("i"), Ints: make([]int64, 1001)}, ""},
		"not in a list":         {not(&joincore.In{Arg: ref("b"), Ints: []int64{1}}), `NOT ("b"::pg_catalog.bool OPERATOR(pg_catalog.=) ANY (ARRAY[true]))`},
		"not in one with NULL":  {not(&joincore.In{Arg: ref("i"), Ints: []int64{1}, Null: true}), ""},
		"not a text":            {not(compare(joincore.Equal, ref("c"), text("a"))), ""},
		"a part of a whole":     {all(unknown, less("i", 7), unknown), "(" + i7 + ")"},
		"no part":               {all(unknown), ""},
		"not a part":            {not(all(unknown, less("i", 7))), ""},
		"not all":               {not(all(less("i", 7), less("i", 7))), "NOT (" + i7 + " AND " + i7 + ")"},
		"one of two":            {either(less("i", 7), all(less("i", 7), unknown)), "(" + i7 + " OR (" + i7 + "))"},
		"one of others":         {either(less("i", 7), unknown), ""},
		"two columns":           {compare(joincore.Less, ref("i"), ref("i")), ""},
	} {
		r := &Read{Columns: whereColumns, Condition: c.e, Parameters: []joincore.Parameter{{Int: 42}, {Null: true}}}
		for i := range r.Columns {
			if r.Columns[i].Typmod == 0 {
				r.Columns[i].Typmod = -1
			}
		}
		if got := whereOf(r); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

// TestDirectReadsAreFiltered: the server gets the condition of all rows, and none of a sample.
func TestDirectReadsAreFiltered(t *testing.T) {
	p, f := pinOf(t, 1000)
	extents := 0
	r := reader("d", &extents, columnOf(t, "id", encode.Value, 0))
	r.Condition = &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{}, Right: joincore.Int(3)}
	if _, err := p.Read(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.Sample = &Sample{Rows: 2}
	if _, err := p.Read(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	const want = `("id"::pg_catalog.int8 OPERATOR(pg_catalog.<) '3'::pg_catalog.int8)`
	if f.reads[0].Where != want || f.reads[1].Where != "" || !strings.HasPrefix(f.reads[2].Where, "pg_catalog.random()") {
		t.Errorf("%q, %q, %q", f.reads[0].Where, f.reads[1].Where, f.reads[2].Where)
	}
}
