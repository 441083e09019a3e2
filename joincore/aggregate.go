package joincore

import (
	"fmt"
	"math"
)

// Aggregate groups the rows of Child. Its result is the derived input ID, whose
// columns are the keys, the carried columns and the functions, in this order.
// The inputs below it are not visible above it.
type Aggregate struct {
	Child Node
	// ID numbers the derived input. The aggregates of a plan are numbered from
	// len(Plan.Inputs) on.
	ID int
	// Keys divide the rows into groups; NULLs are equal. Without keys there is
	// one group, even of no rows. A ColumnRef may have any physical type and is
	// compared by its bytes.
	Keys []Value
	// Carry are columns that depend on the keys: each is returned with its value
	// in any row of the group. Without keys there are none: the group may have no row.
	Carry     []ColumnRef
	Functions []Function
	Rows      float64 // the planner's estimate of the groups; a hint, never a bound
}

func (*Aggregate) node() {}

// FunctionKind is an aggregate function.
type FunctionKind uint8

const (
	// Count counts the rows of a group, or those in which Arg is not NULL.
	// 8 bytes, never NULL.
	Count FunctionKind = iota + 1
	// Sum is a signed integer of 128 bits, NULL of no values. A sum outside of
	// them is ErrArithmetic.
	Sum
	// Min and Max have the type of Arg; bytes are compared as Compare does.
	Min
	Max
	// BoolAnd and BoolOr are 0 or 1 in 1 byte: whether all values, or any, are
	// other than 0.
	BoolAnd
	BoolOr
	// SumOfSquares is an unsigned integer of 256 bits.
	SumOfSquares
	// SumFloat8 is the sum of floats, of which Arg and the result are the integers
	// that have their order (see OrderedFloat). SumFloat4 is rounded to a float4, and
	// AverageFloat divides the rounded sum by the number of values. A finite sum
	// out of range is ErrArithmetic.
	SumFloat8
	SumFloat4
	AverageFloat
)

// Function is an aggregate function of a group. It ignores rows in which Arg is
// NULL or Filter is not true. Without any value its result is NULL, but for
// Count.
type Function struct {
	Kind     FunctionKind
	Arg      Value // nil: rows, of Count only
	Distinct bool  // of Count and Sum: each value once
	Filter   Expr  // nil: none
}

// Columns returns the columns of the derived input. scope is that of the
// child's rows. Errors wrap ErrInvalid.
func (a *Aggregate) Columns(scope *Scope) ([]Column, error) {
	if len(a.Keys) == 0 && len(a.Carry) > 0 {
		return nil, fmt.Errorf("%w: carried columns without keys", ErrInvalid)
	}
	var out []Column
	for i, k := range a.Keys {
		c, err := keyColumn(k, scope)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		out = append(out, c)
	}
	for i, ref := range a.Carry {
		c, err := scope.Column(ref)
		if err != nil {
			return nil, fmt.Errorf("carried column %d: %w", i, err)
		}
		out = append(out, c)
	}
	for i := range a.Functions {
		c, err := a.Functions[i].column(scope)
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", i, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// keyColumn keeps the physical type of a column. A computed key has the type of
// its value.
func keyColumn(k Value, scope *Scope) (Column, error) {
	if ref, ok := k.(ColumnRef); ok {
		return scope.Column(ref)
	}
	t, err := scope.Type(k)
	if err == nil && t.Width == 16 {
		err = fmt.Errorf("%w: a computed key of 16 bytes", ErrInvalid)
	}
	return t.Column(), err
}

// Column returns how values of the type are stored.
func (t Type) Column() Column {
	if t.Bytes {
		return Column{Kind: Varlena, Align: 4}
	}
	return Column{Kind: Fixed, Width: t.Width, Align: min(t.Width, 8)}
}

func (f *Function) column(scope *Scope) (Column, error) {
	if f.Filter != nil {
		if err := scope.Check(f.Filter); err != nil {
			return Column{}, err
		}
	}
	if f.Distinct && (f.Kind != Count && f.Kind != Sum || f.Arg == nil) {
		return Column{}, fmt.Errorf("%w: distinct values for function %d", ErrInvalid, f.Kind)
	}
	var t Type
	if f.Arg == nil {
		if f.Kind != Count {
			return Column{}, fmt.Errorf("%w: function %d without an argument", ErrInvalid, f.Kind)
		}
	} else {
		var err error
		if t, err = scope.Type(f.Arg); err != nil {
			return Column{}, err
		}
	}
	width := 0
	switch f.Kind {
	case Count:
		return Column{Kind: Fixed, Width: 8, Align: 8}, nil
	case Min, Max:
		return t.Column(), nil
	case Sum:
		width = 16
	case BoolAnd, BoolOr:
		width = 1
	case SumOfSquares:
		width = 32
	case SumFloat8, SumFloat4, AverageFloat:
		if width = 8; t.Width > 8 {
			return Column{}, fmt.Errorf("%w: function %d of an integer of %d bytes", ErrInvalid, f.Kind, t.Width)
		}
	default:
		return Column{}, fmt.Errorf("%w: function %d", ErrInvalid, f.Kind)
	}
	if t.Bytes {
		return Column{}, fmt.Errorf("%w: function %d of bytes", ErrInvalid, f.Kind)
	}
	return Column{Kind: Fixed, Width: width, Align: min(width, 8)}, nil
}

// AggregateColumns returns the columns that an aggregate reads. A column may
// occur more than once.
func AggregateColumns(a *Aggregate) (columns []ColumnRef) {
	for _, k := range a.Keys {
		columns = append(columns, Columns(k)...)
	}
	columns = append(columns, a.Carry...)
	for i := range a.Functions {
		columns = append(columns, Columns(a.Functions[i].Arg)...)
		columns = append(columns, Columns(a.Functions[i].Filter)...)
	}
	return columns
}

// Floats are computed as integers of 8 bytes that have their order: the bits of a
// negative float count downwards. NaNs are the greatest integer, -0 is the least.

// OrderedFloat returns the float of such an integer.
func OrderedFloat(order int64) float64 {
	switch {
	case order >= 0:
		return math.Float64frombits(uint64(order))
	case order == math.MinInt64:
		return math.Copysign(0, -1)
	}
	return math.Float64frombits(uint64(order ^ math.MaxInt64))
}

// FloatOrder returns the integer of a float.
func FloatOrder(x float64) int64 {
	bits := int64(math.Float64bits(x))
	switch {
	case math.IsNaN(x):
		return math.MaxInt64
	case bits >= 0:
		return bits
	case x == 0:
		return math.MinInt64
	}
	return bits ^ math.MaxInt64
}

// A sum of floats is computed of digits of FloatDigitBits bits, whose places do not
// depend on the values: digit 0 begins with the bit of the least float greater than
// 0. A value has three digits, the highest of which may be 0. Only FloatDigits of a
// sum are kept: the highest three that a value has, and those below them. What
// other values have below these is dropped. So the sum does not depend on the
// order of the values.
//
// Nothing is dropped where each value is at least 2^-64 times the largest one. Else
// the sum of n values has an error of less than n units of the lowest digit.
// Where that may be half a unit in the last place of the result, because large
// values cancel each other out, the sum is ErrArithmetic. So a result is the
// nearest float to the exact sum, or one next to it.
//
// Sources: Demmel and Nguyen, Parallel Reproducible Summation, IEEE Transactions
// on Computers 64(7), 2015; Neal, Fast Exact Summation Using Small and Large
// Superaccumulators, 2015.
const (
	FloatDigitBits = 32
	FloatDigits    = 5
)

// FloatSumRows bounds the values of a sum of floats: more are ErrArithmetic.
const FloatSumRows = math.MaxInt32

// FloatAverageExponent bounds the values of an average of floats: finite ones of
// at least 2^FloatAverageExponent are ErrArithmetic. PostgreSQL also computes the
// sum of the squares of their differences, which may be out of range although
// the average is not.
const FloatAverageExponent = 450
