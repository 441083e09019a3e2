package joincore

import "fmt"

// Type is the type of a value.
type Type struct {
	Bytes bool
	Width int // bytes of an integer: 1, 2, 4, 8 or 16; 0 for Bytes
}

// Scope is what the expressions at one place of a plan may refer to.
type Scope struct {
	// Column describes a column, or says why it cannot be read here.
	Column func(ColumnRef) (Column, error)
	// Derived reports whether an input is an aggregate's result, of which
	// columns of width 16 are integers. nil: all are.
	Derived    func(input int) bool
	Parameters int // how many the plan has
}

// ValueType returns the type of a valid value.
func ValueType(v Value, columnOf func(ColumnRef) Column) (Type, error) {
	s := Scope{Column: func(c ColumnRef) (Column, error) { return columnOf(c), nil }, Parameters: int(^uint(0) >> 1)}
	return s.Type(v)
}

// Type returns the type of a value. The error wraps ErrInvalid where the value
// is not valid in this scope. Values that are too deep to be walked must be
// refused before.
func (s *Scope) Type(v Value) (Type, error) {
	switch v := v.(type) {
	case ColumnRef:
		return s.column(v)
	case Decimal:
		t, err := s.column(v.Column)
		if err == nil && t.Width != 8 {
			err = fmt.Errorf("%w: decimal column %v is not 8 bytes wide", ErrInvalid, v.Column)
		}
		return t, err
	case Int:
		return Type{Width: 8}, nil
	case ParameterIndex:
		if v < 0 || int(v) >= s.Parameters {
			return Type{}, fmt.Errorf("%w: no parameter %d", ErrInvalid, v)
		}
		return Type{Width: 8}, nil
	case Null:
		return nullType(v)
	case *Text:
		return Type{Bytes: true}, nil
	case *Arithmetic:
		return s.arithmetic(v)
	case *Case:
		return s.caseType(v)
	case *Coalesce:
		return s.common(v.Args)
	case *DatePart:
		if v.Part < Year || v.Part > Day {
			return Type{}, fmt.Errorf("%w: date part %d", ErrInvalid, v.Part)
		}
		return Type{Width: 4}, s.integer(v.Arg)
	case *Substring:
		if err := validEncoding(v.Characters); err != nil {
			return Type{}, err
		}
		return Type{Bytes: true}, s.bytes(v.Arg)
	case *Truth:
		return Type{Width: 1}, s.Check(v.Arg)
	}
	return Type{}, fmt.Errorf("%w: value %T", ErrInvalid, v)
}

func (s *Scope) column(ref ColumnRef) (Type, error) {
	c, err := s.Column(ref)
	if err != nil {
		return Type{}, err
	}
	switch {
	case c.Kind == Varlena:
		return Type{Bytes: true}, nil
	case c.IsInt():
		return Type{Width: c.Width}, nil
	case c.Kind == Fixed && c.Width == 16 && (s.Derived == nil || s.Derived(ref.Input)):
		return Type{Width: 16}, nil
	}
	return Type{}, fmt.Errorf("%w: column %v is no integer and no bytes", ErrInvalid, ref)
}

func nullType(n Null) (Type, error) {
	switch n.Width {
	case 0:
		return Type{Bytes: true}, nil
	case 1, 2, 4, 8, 16:
		return Type{Width: n.Width}, nil
	}
	return Type{}, fmt.Errorf("%w: NULL of width %d", ErrInvalid, n.Width)
}

func (s *Scope) arithmetic(a *Arithmetic) (Type, error) {
	if a.Op < Add || a.Op > Modulo {
		return Type{}, fmt.Errorf("%w: arithmetic operation %d", ErrInvalid, a.Op)
	}
	switch a.Width {
	case 2, 4, 8, 16:
	default:
		return Type{}, fmt.Errorf("%w: arithmetic of width %d", ErrInvalid, a.Width)
	}
	if err := s.integer(a.Left); err != nil {
		return Type{}, err
	}
	return Type{Width: a.Width}, s.integer(a.Right)
}

func (s *Scope) caseType(c *Case) (Type, error) {
	if len(c.Whens) == 0 {
		return Type{}, fmt.Errorf("%w: a case of no arms", ErrInvalid)
	}
	values := make([]Value, 0, len(c.Whens)+1)
	for _, w := range c.Whens {
		if err := s.Check(w.Condition); err != nil {
			return Type{}, err
		}
		values = append(values, w.Then)
	}
	return s.common(append(values, c.Else))
}

// common returns the type of values of which one is taken.
func (s *Scope) common(values []Value) (Type, error) {
	if len(values) == 0 {
		return Type{}, fmt.Errorf("%w: one of no values", ErrInvalid)
	}
	var out Type
	for i, v := range values {
		t, err := s.Type(v)
		if err != nil {
			return Type{}, err
		}
		if i > 0 && t.Bytes != out.Bytes {
			return Type{}, fmt.Errorf("%w: one of integers and bytes", ErrInvalid)
		}
		out = Type{Bytes: t.Bytes, Width: max(out.Width, t.Width)}
	}
	return out, nil
}

func (s *Scope) integer(v Value) error {
	t, err := s.Type(v)
	if err == nil && t.Bytes {
		err = fmt.Errorf("%w: bytes where an integer is needed", ErrInvalid)
	}
	return err
}

func (s *Scope) bytes(v Value) error {
	t, err := s.Type(v)
	if err == nil && !t.Bytes {
		err = fmt.Errorf("%w: an integer where bytes are needed", ErrInvalid)
	}
	return err
}

// Check returns an error that wraps ErrInvalid where a condition is not valid
// in this scope.
func (s *Scope) Check(e Expr) error {
	switch e := e.(type) {
	case *And:
		return s.checkAll(e.Args)
	case *Or:
		return s.checkAll(e.Args)
	case *Not:
		return s.Check(e.Arg)
	case *Compare:
		if e.Op < Equal || e.Op > GreaterEqual {
			return fmt.Errorf("%w: comparison %d", ErrInvalid, e.Op)
		}
		_, err := s.common([]Value{e.Left, e.Right})
		return err
	case *IsNull:
		return s.isNull(e)
	case *In:
		return s.in(e)
	case *Like:
		if err := validEncoding(e.Encoding); err != nil {
			return err
		}
		if !ValidPattern(e.Pattern) {
			return fmt.Errorf("%w: a pattern that ends in its escape", ErrInvalid)
		}
		return s.bytes(e.Arg)
	}
	return fmt.Errorf("%w: condition %T", ErrInvalid, e)
}

func (s *Scope) checkAll(args []Expr) error {
	for _, a := range args {
		if err := s.Check(a); err != nil {
			return err
		}
	}
	return nil
}

// isNull takes columns that are no values, too: only their validity is read.
func (s *Scope) isNull(e *IsNull) error {
	if c, ok := e.Arg.(ColumnRef); ok {
		_, err := s.Column(c)
		return err
	}
	_, err := s.Type(e.Arg)
	return err
}

func (s *Scope) in(e *In) error {
	t, err := s.Type(e.Arg)
	if err != nil {
		return err
	}
	if t.Bytes && len(e.Ints) > 0 || !t.Bytes && len(e.Texts) > 0 {
		return fmt.Errorf("%w: a list of another type", ErrInvalid)
	}
	return nil
}

func validEncoding(e Encoding) error {
	if e != SingleByte && e != UTF8 {
		return fmt.Errorf("%w: encoding %d", ErrInvalid, e)
	}
	return nil
}

// ValidPattern is false of a pattern of LIKE that ends in a backslash which
// escapes nothing.
func ValidPattern(p []byte) bool {
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' {
			if i++; i == len(p) {
				return false
			}
		}
	}
	return true
}
