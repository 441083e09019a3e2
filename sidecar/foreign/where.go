package foreign

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/source"
)

// A table that is read directly is filtered by its server where that is possible. The job evaluates
// the whole condition again, so what is sent may let more rows pass, and never fewer.

// condition is a condition in SQL.
type condition struct {
	sql   string // "": it has no form here
	exact bool   // it is what the job evaluates, for each row; else it may be true where that is not
}

var nothing = condition{}

// whereOf returns what the server may check of a read's condition; "": nothing.
func whereOf(r *Read) string {
	if r.Condition == nil {
		return ""
	}
	w := where{r}
	return w.of(r.Condition).sql
}

// where writes conditions on the columns of a read.
type where struct{ read *Read }

func (w where) of(e joincore.Expr) condition {
	switch e := e.(type) {
	case *joincore.And:
		return w.all(e.Args)
	case *joincore.Or:
		return w.any(e.Args)
	case *joincore.Not:
		if c := w.of(e.Arg); c.exact {
			return condition{"NOT " + c.sql, true}
		}
	case *joincore.IsNull:
		if c, ok := readColumn(e.Arg); ok {
			return condition{"(" + w.name(c) + " IS NULL)", true}
		}
	case *joincore.Compare:
		return w.compare(e)
	case *joincore.In:
		return w.in(e)
	}
	return nothing
}

// all leaves out what has no form: more rows pass.
func (w where) all(args []joincore.Expr) condition {
	out := condition{exact: true}
	var parts []string
	for _, a := range args {
		c := w.of(a)
		out.exact = out.exact && c.exact
		if c.sql != "" {
			parts = append(parts, c.sql)
		}
	}
	if len(parts) == 0 {
		return nothing
	}
	out.sql = "(" + strings.Join(parts, " AND ") + ")"
	return out
}

func (w where) any(args []joincore.Expr) condition {
	out := condition{exact: true}
	var parts []string
	for _, a := range args {
		c := w.of(a)
		if c.sql == "" {
			return nothing
		}
		out.exact = out.exact && c.exact
		parts = append(parts, c.sql)
	}
	if len(parts) == 0 {
		return nothing
	}
	out.sql = "(" + strings.Join(parts, " OR ") + ")"
	return out
}

var operators = map[joincore.CompareOp]string{
	joincore.Equal: "=", joincore.NotEqual: "<>", joincore.Less: "<", joincore.LessEqual: "<=", joincore.Greater: ">", joincore.GreaterEqual: ">=",
}

func (w where) compare(e *joincore.Compare) condition {
	op, left, right := e.Op, e.Left, e.Right
	if _, ok := readColumn(left); !ok {
		op, left, right = op.Mirrored(), right, left
	}
	c, ok := readColumn(left)
	if !ok {
		return nothing
	}
	value, exact := w.constant(c, right)
	if value == "" || !exact && op != joincore.Equal {
		return nothing
	}
	return condition{fmt.Sprintf("(%s OPERATOR(pg_catalog.%s) %s)", w.name(c), operators[op], value), exact}
}

// mostValues bounds a list in SQL.
const mostValues = 1000

func (w where) in(e *joincore.In) condition {
	c, ok := readColumn(e.Arg)
	if !ok || len(e.Ints)+len(e.Texts) == 0 || len(e.Ints)+len(e.Texts) > mostValues {
		return nothing
	}
	exact := !e.Null
	var list []string
	add := func(v joincore.Value) bool {
		text, same := w.constant(c, v)
		list, exact = append(list, text), exact && same
		return text != ""
	}
	for _, v := range e.Ints {
		if !add(joincore.Int(v)) {
			return nothing
		}
	}
	for _, v := range e.Texts {
		if !add(&joincore.Text{Bytes: v}) {
			return nothing
		}
	}
	return condition{fmt.Sprintf("(%s OPERATOR(pg_catalog.=) ANY (ARRAY[%s]))", w.name(c), strings.Join(list, ", ")), exact}
}

// readColumn returns the column that a value is.
func readColumn(v joincore.Value) (int, bool) {
	switch v := v.(type) {
	case joincore.ColumnRef:
		return v.Column, true
	case joincore.Decimal:
		return v.Column.Column, true
	}
	return 0, false
}

// name returns a column as an SQL expression of the type that the job has of it.
func (w where) name(c int) string {
	column := &w.read.Columns[c]
	return source.Expression{Column: column.Name, Cast: castOf(column)}.String()
}

// constant returns a value that a column is compared with, as a constant of the column's type; "": it has no
// form. exact: the source compares these as the job does.
func (w where) constant(c int, v joincore.Value) (sql string, exact bool) {
	column := &w.read.Columns[c]
	if column.Text {
		return "", false
	}
	switch v := v.(type) {
	case joincore.Int:
		return integer(column, int64(v))
	case joincore.ParameterIndex:
		if int(v) < len(w.read.Parameters) && !w.read.Parameters[v].Null {
			return integer(column, w.read.Parameters[v].Int)
		}
	case *joincore.Text:
		return text(column, v.Bytes)
	}
	return "", false
}

// Types whose integers have a form in SQL.
const (
	boolType        = 16
	int8Type        = 20
	int2Type        = 21
	int4Type        = 23
	varcharType     = 1043
	dateType        = 1082
	timestampType   = 1114
	timestamptzType = 1184
)

// integer returns the value of a column's type that an integer stands for.
func integer(c *Column, v int64) (sql string, exact bool) {
	if c.Type == numericType && encode.Form(c.Form) == encode.Decimal {
		return decimal(v, c.Scale) + "::pg_catalog.numeric", true
	}
	if encode.Form(c.Form) != encode.Value {
		return "", false
	}
	switch c.Type {
	case boolType:
		if v == 0 || v == 1 {
			return strconv.FormatBool(v == 1), true
		}
	case int8Type, int2Type, int4Type:
		return fmt.Sprintf("'%d'::pg_catalog.int8", v), true
	case dateType:
		if v > -1<<20 && v < 1<<25 {
			return "'" + moment(v*microsOfDay, "-01-02") + "'::pg_catalog.date", true
		}
	case timestampType:
		if v > -1<<57 && v < 1<<62 {
			return "'" + moment(v, "-01-02 15:04:05.000000") + "'::pg_catalog.timestamp", true
		}
	case timestamptzType:
		if v > -1<<57 && v < 1<<62 {
			return "'" + moment(v, "-01-02 15:04:05.000000+00") + "'::pg_catalog.timestamptz", true
		}
	}
	return "", false
}

// decimal returns an integer divided by a power of ten.
func decimal(v int64, scale int) string {
	sign, digits := "", strconv.FormatInt(v, 10)
	if v < 0 {
		sign, digits = "-", digits[1:]
	}
	if scale == 0 {
		return "'" + sign + digits + "'"
	}
	if n := scale + 1 - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	return "'" + sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:] + "'"
}

const (
	microsOfDay = 24 * 60 * 60 * 1000000
	begin2000   = 10957 * microsOfDay // since 1970
)

// moment formats microseconds since 2000: the year, and the rest by a layout.
func moment(micros int64, layout string) string {
	t := time.UnixMicro(begin2000 + micros).UTC()
	year, era := t.Year(), ""
	if year < 1 { // SQL has no year 0
		year, era = 1-year, " BC"
	}
	return fmt.Sprintf("%04d", year) + t.Format(layout) + era
}

// text returns a text of ASCII as a constant. The source may take texts for equal that differ in their
// bytes, by the column's collation: so it is not exact.
func text(c *Column, v []byte) (sql string, exact bool) {
	form := encode.Form(c.Form)
	if !(form == encode.Value && (c.Type == textType || c.Type == varcharType) || form == encode.BpcharKey && c.Type == bpcharType) {
		return "", false
	}
	var b strings.Builder
	b.WriteString("E'")
	for _, x := range v {
		switch {
		case x < ' ' || x > '~':
			return "", false
		case x == '\'' || x == '\\':
			b.WriteByte('\\')
		}
		b.WriteByte(x)
	}
	b.WriteString("'::" + encode.SQLName(c.Type))
	return b.String(), false
}
