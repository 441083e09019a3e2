package joincore

// Expr is a condition over a row, in SQL's three-valued logic: *And, *Or,
// *Not, *Compare, *IsNull, *In or *Like. A row passes where it is true.
type Expr interface{ expr() }

// And is true where all Args are.
type And struct{ Args []Expr }

// Or is true where any of Args is.
type Or struct{ Args []Expr }

// Not negates Arg; unknown stays unknown.
type Not struct{ Arg Expr }

// CompareOp is a comparison of two values.
type CompareOp uint8

const (
	Equal CompareOp = iota + 1
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
)

// Mirrored returns the comparison with its sides exchanged.
func (op CompareOp) Mirrored() CompareOp {
	switch op {
	case Less:
		return Greater
	case LessEqual:
		return GreaterEqual
	case Greater:
		return Less
	case GreaterEqual:
		return LessEqual
	}
	return op
}

// Compare compares two integers of any widths by value, or two strings of
// bytes: by their first byte that differs, unsigned, and a prefix is less than
// what it begins. It is unknown where either is NULL.
type Compare struct {
	Op          CompareOp
	Left, Right Value
}

// IsNull is true where Arg is NULL and never unknown. Arg may be a column of
// any type.
type IsNull struct{ Arg Value }

// In is true if Arg is in a list: of Ints if Arg is an integer, of Texts if it is
// bytes. An empty list gives false. Otherwise the result is unknown if Arg is NULL, or
// if Arg is not found and the list contains NULL.
type In struct {
	Arg   Value
	Ints  []int64
	Texts [][]byte
	Null  bool // the list holds a NULL, too
}

// Like is SQL's LIKE of bytes, case-sensitive and over the whole of Arg: _ is
// one character, % any number of them, and a backslash makes the byte behind
// it stand for itself. The pattern does not end in a backslash that is not
// itself escaped.
type Like struct {
	Arg      Value
	Pattern  []byte
	Encoding Encoding
}

func (*And) expr()     {}
func (*Or) expr()      {}
func (*Not) expr()     {}
func (*Compare) expr() {}
func (*IsNull) expr()  {}
func (*In) expr()      {}
func (*Like) expr()    {}

// Value is an expression over a row: an integer of a width in bytes, a string
// of bytes, or NULL. It is ColumnRef, Decimal, Int, ParameterIndex, Null,
// *Text, *Arithmetic, *Case, *Coalesce, *DatePart, *Substring or *Truth.
//
// A ColumnRef is a signed integer where its column is Fixed of width 1, 2, 4
// or 8, or of an aggregate and of width 16; it is bytes where its column is
// Varlena. These bytes are a PostgreSQL value: a header, the payload, padding.
// The header has four bytes, little-endian length<<2, or one, length<<1 | 1;
// the length includes the header. Expressions see the payload only.
type Value interface{ value() }

// Int is a constant, 8 bytes wide.
type Int int64

// ParameterIndex is a position in Plan.Parameters, 8 bytes wide.
type ParameterIndex int

// Decimal is the mantissa of a decimal in a Fixed column of width 8.
// math.MinInt64 is not a number: ErrArithmetic.
type Decimal struct{ Column ColumnRef }

// Null is the NULL of an integer of Width bytes: 1, 2, 4, 8 or 16. Width 0 is
// the NULL of bytes.
type Null struct{ Width int }

// Text is a constant of bytes: the payload, without a header.
type Text struct{ Bytes []byte }

// ArithmeticOp is an operation on two signed integers.
type ArithmeticOp uint8

// Divide truncates toward zero, and Modulo has the sign of its left side, as
// in C. Either is ErrArithmetic where the right side is 0.
const (
	Add ArithmeticOp = iota + 1
	Subtract
	Multiply
	Divide
	Modulo
)

// Arithmetic is Left Op Right, of integers of any widths; NULL where either is
// NULL. A result that is no signed integer of Width bytes (2, 4, 8 or 16) is
// ErrArithmetic.
type Arithmetic struct {
	Op          ArithmeticOp
	Width       int
	Left, Right Value
}

// When is an arm of a Case.
type When struct {
	Condition Expr
	Then      Value
}

// Case is the Then of the first arm whose Condition is true, else Else. All of
// them are integers, of which the widest gives the width, or all are bytes. An
// arm that is not taken may be evaluated, so that a plan may end with
// ErrArithmetic which SQL would not report.
type Case struct {
	Whens []When
	Else  Value
}

// Coalesce is the first of Args that is not NULL. As with Case, all are
// integers or all are bytes, and more of them may be evaluated than SQL would.
type Coalesce struct{ Args []Value }

// DateField is a part of a date.
type DateField uint8

// Fields of the proleptic Gregorian calendar. The year before 1 is -1.
const (
	Year DateField = iota + 1
	Month
	Day
)

// DatePart is a field, 4 bytes wide, of a date: days since 2000-01-01. What is
// no finite date of PostgreSQL (FirstDate to LastDate) is ErrArithmetic.
type DatePart struct {
	Part DateField
	Arg  Value
}

// The first and the last date of PostgreSQL, 4714-11-24 BC and 5874897-12-31,
// in days since 2000-01-01.
const (
	FirstDate = -2451545
	LastDate  = 2145031948
)

// Encoding says what the characters of bytes are.
type Encoding uint8

const (
	// SingleByte: each byte is a character.
	SingleByte Encoding = iota + 1
	// UTF8: a character ends before each byte that does not continue one
	// (binary 10xxxxxx) and at the end.
	UTF8
)

// Substring is the characters From to From+For-1 of bytes, counted from 1, as
// far as they exist: From may be less than 1. Without For (negative) it goes
// to the end.
type Substring struct {
	Arg        Value
	From, For  int
	Characters Encoding
}

// Truth is a condition as an integer of 1 byte: 0, 1 or NULL.
type Truth struct{ Arg Expr }

func (ColumnRef) value()      {}
func (Int) value()            {}
func (ParameterIndex) value() {}
func (Decimal) value()        {}
func (Null) value()           {}
func (*Text) value()          {}
func (*Arithmetic) value()    {}
func (*Case) value()          {}
func (*Coalesce) value()      {}
func (*DatePart) value()      {}
func (*Substring) value()     {}
func (*Truth) value()         {}
