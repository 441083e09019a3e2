// Package plandoc writes plans as jobs in the form of docs/internals/job.md, for tests of what
// reads jobs. The extension writes them in production.
package plandoc

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"gpujoin/joincore"
)

// object is a JSON object.
type object = map[string]any

// Kept says what a job has of an input that may be kept.
type Kept struct {
	Hidden    int           // the last ones of its columns
	Condition joincore.Expr // nil: none
}

// Write returns the plan as a job. Its inputs are tables without names. It panics if
// the plan has a kind of node, condition or value that jobs do not have.
func Write(p *joincore.Plan) []byte { return WriteKept(p, nil) }

// WriteKept is Write of a plan of which these inputs, by number, may be kept. The columns of
// such an input are the fed ones and the hidden ones.
func WriteKept(p *joincore.Plan, kept map[int]Kept) []byte {
	inputs := []object{}
	for i := range p.Inputs {
		in := input(&p.Inputs[i])
		if k, ok := kept[i]; ok {
			keep(in, k)
		}
		inputs = append(inputs, in)
	}
	parameters := []any{}
	for _, v := range p.Parameters {
		if v.Null {
			parameters = append(parameters, nil)
		} else {
			parameters = append(parameters, v.Int)
		}
	}
	runtime := object{"generation": 1, "parameters": parameters}
	if p.Algorithm != 0 {
		runtime["algorithm"] = p.Algorithm.String()
	}
	text, err := json.Marshal(object{
		"version": 3,
		"static": object{
			"inputs": inputs,
			"root":   object{"op": "project", "columns": refs(p.Output), "child": node(p.Root)},
		},
		"runtime": runtime,
	})
	if err != nil {
		panic(err) // a number that JSON cannot express
	}
	return text
}

func input(in *joincore.Input) object {
	columns := []object{}
	for i, c := range in.Columns {
		encoding := "fixed"
		if c.Kind == joincore.Varlena {
			encoding = "varlena"
		}
		columns = append(columns, object{
			"attnum": i + 1, "typmod": -1, "role": "value", "encoding": encoding, "width": c.Width, "align": c.Align,
		})
	}
	return object{"feed": "page", "rows": in.Rows, "columns": columns}
}

// keep adds to an input what only one has that may be kept.
func keep(in object, k Kept) {
	for _, c := range in["columns"].([]object) {
		c["form"], c["scale"] = 0, 0
	}
	o := object{"hidden": k.Hidden}
	if k.Condition != nil {
		o["condition"] = expr(k.Condition)
	}
	in["kept"] = o
}

func ref(c joincore.ColumnRef) object { return object{"input": c.Input, "column": c.Column} }

func refs(list []joincore.ColumnRef) []object {
	out := []object{}
	for _, c := range list {
		out = append(out, ref(c))
	}
	return out
}

var kinds = map[joincore.Kind]string{
	joincore.Inner: "inner", joincore.Left: "left", joincore.Right: "right",
	joincore.Full: "full", joincore.Semi: "semi", joincore.Anti: "anti",
}

var classes = map[joincore.KeyClass]string{
	joincore.KeyInt: "int", joincore.KeyBytes: "bytes", joincore.KeyVarlena: "varlena",
}

func node(n joincore.Node) object {
	switch n := n.(type) {
	case *joincore.Scan:
		return object{"op": "scan", "input": n.Input}
	case *joincore.Filter:
		return object{"op": "filter", "child": node(n.Child), "predicate": expr(n.Predicate)}
	case *joincore.Join:
		keys := []object{}
		for _, k := range n.Keys {
			keys = append(keys, object{"left": ref(k.Left), "right": ref(k.Right), "class": classes[k.Class]})
		}
		o := object{"op": "join", "kind": kinds[n.Kind], "rows": n.Rows, "left": node(n.Left), "right": node(n.Right), "keys": keys}
		if n.Residual != nil {
			o["residual"] = expr(n.Residual)
		}
		return o
	case *joincore.Aggregate:
		return aggregate(n)
	}
	panic(fmt.Sprintf("plan node %T", n))
}

var functions = map[joincore.FunctionKind]string{
	joincore.Count: "count", joincore.Sum: "sum", joincore.Min: "min", joincore.Max: "max",
	joincore.BoolAnd: "bool_and", joincore.BoolOr: "bool_or", joincore.SumOfSquares: "sum_squares",
	joincore.SumFloat8: "sum_float8", joincore.SumFloat4: "sum_float4", joincore.AverageFloat: "avg_float",
}

func aggregate(a *joincore.Aggregate) object {
	list := []object{}
	for _, f := range a.Functions {
		o := object{"fn": functions[f.Kind]}
		if f.Arg != nil {
			o["arg"] = value(f.Arg)
		}
		if f.Distinct {
			o["distinct"] = true
		}
		if f.Filter != nil {
			o["filter"] = expr(f.Filter)
		}
		list = append(list, o)
	}
	return object{
		"op": "aggregate", "id": a.ID, "rows": a.Rows, "keys": values(a.Keys), "carry": refs(a.Carry),
		"functions": list, "child": node(a.Child),
	}
}

var comparisons = map[joincore.CompareOp]string{
	joincore.Equal: "=", joincore.NotEqual: "<>", joincore.Less: "<",
	joincore.LessEqual: "<=", joincore.Greater: ">", joincore.GreaterEqual: ">=",
}

var encodings = map[joincore.Encoding]string{joincore.SingleByte: "single", joincore.UTF8: "utf8"}

func expr(e joincore.Expr) object {
	switch e := e.(type) {
	case *joincore.And:
		return object{"and": exprs(e.Args)}
	case *joincore.Or:
		return object{"or": exprs(e.Args)}
	case *joincore.Not:
		return object{"not": expr(e.Arg)}
	case *joincore.Compare:
		return object{"compare": comparisons[e.Op], "left": value(e.Left), "right": value(e.Right)}
	case *joincore.IsNull:
		return object{"is_null": value(e.Arg)}
	case *joincore.In:
		return in(e)
	case *joincore.Like:
		return object{"like": value(e.Arg), "pattern": hex.EncodeToString(e.Pattern), "encoding": encodings[e.Encoding]}
	}
	panic(fmt.Sprintf("condition %T", e))
}

func in(e *joincore.In) object {
	o := object{"in": value(e.Arg)}
	if e.Ints != nil {
		o["ints"] = e.Ints
	}
	if e.Texts != nil {
		texts := []string{}
		for _, t := range e.Texts {
			texts = append(texts, hex.EncodeToString(t))
		}
		o["texts"] = texts
	}
	if e.Null {
		o["null"] = true
	}
	return o
}

func exprs(list []joincore.Expr) []object {
	out := []object{}
	for _, e := range list {
		out = append(out, expr(e))
	}
	return out
}

var arithmetic = map[joincore.ArithmeticOp]string{
	joincore.Add: "+", joincore.Subtract: "-", joincore.Multiply: "*", joincore.Divide: "/", joincore.Modulo: "%",
}

var dateFields = map[joincore.DateField]string{joincore.Year: "year", joincore.Month: "month", joincore.Day: "day"}

func value(v joincore.Value) object {
	switch v := v.(type) {
	case joincore.ColumnRef:
		return object{"column": ref(v)}
	case joincore.Decimal:
		return object{"decimal": ref(v.Column)}
	case joincore.Int:
		return object{"int": int64(v)}
	case joincore.Null:
		return object{"null": v.Width}
	case *joincore.Text:
		return object{"text": hex.EncodeToString(v.Bytes)}
	case joincore.ParameterIndex:
		return object{"parameter": int(v)}
	case *joincore.Arithmetic:
		return object{"fn": arithmetic[v.Op], "width": v.Width, "args": values([]joincore.Value{v.Left, v.Right})}
	case *joincore.Coalesce:
		return object{"fn": "coalesce", "args": values(v.Args)}
	case *joincore.DatePart:
		return object{"fn": dateFields[v.Part], "args": values([]joincore.Value{v.Arg})}
	case *joincore.Substring:
		return object{
			"fn": "substring", "args": values([]joincore.Value{v.Arg}),
			"from": v.From, "for": v.For, "encoding": encodings[v.Characters],
		}
	case *joincore.Truth:
		return object{"truth": expr(v.Arg)}
	case *joincore.Case:
		whens := []object{}
		for _, w := range v.Whens {
			whens = append(whens, object{"when": expr(w.Condition), "then": value(w.Then)})
		}
		return object{"case": whens, "else": value(v.Else)}
	}
	panic(fmt.Sprintf("value %T", v))
}

func values(list []joincore.Value) []object {
	out := []object{}
	for _, v := range list {
		out = append(out, value(v))
	}
	return out
}
