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
