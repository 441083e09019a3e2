package joincore

// Expr is a condition over a row, in SQL's three-valued logic: *And, *Or,
// *Not, *Compare or *IsNull. A row passes where it is true.
type Expr interface{ expr() }

// And is true where all Args are.
type And struct{ Args []Expr }

// Or is true where any of Args is.
type Or struct{ Args []Expr }

// Not negates Arg; unknown stays unknown.
type Not struct{ Arg Expr }

// CompareOp is a comparison of signed integers.
type CompareOp uint8

const (
	Equal CompareOp = iota + 1
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
)

// Compare compares two operands; unknown where either is NULL.
type Compare struct {
	Op          CompareOp
	Left, Right Operand
}

// IsNull is true where Column is NULL and never unknown.
type IsNull struct{ Column ColumnRef }

func (*And) expr()     {}
func (*Or) expr()      {}
func (*Not) expr()     {}
func (*Compare) expr() {}
func (*IsNull) expr()  {}

// Operand is a side of a comparison: ColumnRef (a Fixed column of width 1, 2,
// 4 or 8), Int or ParameterIndex.
type Operand interface{ operand() }

// Int is a constant.
type Int int64

// ParameterIndex is a position in Plan.Parameters.
type ParameterIndex int

func (ColumnRef) operand()      {}
func (Int) operand()            {}
func (ParameterIndex) operand() {}

// ExprColumns returns the columns that an expression reads; of nil, none.
func ExprColumns(e Expr) []ColumnRef {
	switch e := e.(type) {
	case *And:
		return argColumns(e.Args)
	case *Or:
		return argColumns(e.Args)
	case *Not:
		return ExprColumns(e.Arg)
	case *IsNull:
		return []ColumnRef{e.Column}
	case *Compare:
		var out []ColumnRef
		for _, o := range []Operand{e.Left, e.Right} {
			if c, ok := o.(ColumnRef); ok {
				out = append(out, c)
			}
		}
		return out
	}
	return nil
}

func argColumns(args []Expr) []ColumnRef {
	var out []ColumnRef
	for _, a := range args {
		out = append(out, ExprColumns(a)...)
	}
	return out
}
