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
