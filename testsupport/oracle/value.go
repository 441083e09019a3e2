package oracle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"

	"gpujoin/joincore"
)

// A value of an expression: NULL, an integer, or bytes.
type value struct {
	null  bool
	n     *big.Int
	bytes []byte
}

var null = value{null: true}

func number(n int64) value { return value{n: big.NewInt(n)} }

// value evaluates an expression in a tuple. It evaluates no more than it
// needs: each error is one that SQL reports, too.
func (o *oracle) value(v joincore.Value, t tuple) (value, error) {
	switch v := v.(type) {
	case joincore.ColumnRef:
		return o.column(v, t)
	case joincore.Decimal:
		mantissa, err := o.column(v.Column, t)
		if err == nil && !mantissa.null && mantissa.n.Cmp(big.NewInt(math.MinInt64)) == 0 {
			return null, fmt.Errorf("not a number: %w", joincore.ErrArithmetic)
		}
		return mantissa, err
	case joincore.Int:
		return number(int64(v)), nil
	case joincore.ParameterIndex:
		p := o.plan.Parameters[v]
		if p.Null {
			return null, nil
		}
		return number(p.Int), nil
	case joincore.Null:
		return null, nil
	case *joincore.Text:
		return value{bytes: v.Bytes}, nil
	case *joincore.Arithmetic:
		return o.arithmetic(v, t)
	case *joincore.Case:
		for _, w := range v.Whens {
			taken, err := o.eval(w.Condition, t)
			if err != nil {
				return null, err
			}
			if taken == isTrue {
				return o.value(w.Then, t)
			}
		}
		return o.value(v.Else, t)
	case *joincore.Coalesce:
		for _, a := range v.Args {
			if got, err := o.value(a, t); err != nil || !got.null {
				return got, err
			}
		}
		return null, nil
	case *joincore.DatePart:
		return o.datePart(v, t)
	case *joincore.Substring:
		text, err := o.value(v.Arg, t)
		if err != nil || text.null {
			return null, err
		}
		return value{bytes: substring(characters(text.bytes, v.Characters), v.From, v.For)}, nil
	case *joincore.Truth:
		truth, err := o.eval(v.Arg, t)
		if err != nil || truth == unknown {
			return null, err
		}
		return number(int64(truth) / int64(isTrue)), nil
	}
	return null, fmt.Errorf("value %T: %w", v, joincore.ErrUnsupported)
}

// column reads a column as an integer or as bytes.
func (o *oracle) column(ref joincore.ColumnRef, t tuple) (value, error) {
	raw, isNull := o.raw(t, ref)
	if isNull {
		return null, nil
	}
	if o.schema.Column(ref).Kind == joincore.Fixed {
		return value{n: integer(raw)}, nil
	}
	payload, err := Payload(raw)
	return value{bytes: payload}, err
}

// Payload returns the bytes of a value of variable length, without its header
// of one or four bytes and its padding.
func Payload(raw []byte) ([]byte, error) {
	malformed := fmt.Errorf("a value of %d bytes: %w", len(raw), joincore.ErrInvalid)
	if len(raw) == 0 {
		return nil, malformed
	}
	if raw[0] == 1 {
		return nil, fmt.Errorf("a value in a chain: %w", joincore.ErrUnsupported)
	}
	header, length := 1, int(raw[0]/2)
	if raw[0]%2 == 0 {
		if len(raw) < 4 || raw[0]%4 != 0 {
			return nil, malformed
		}
		header, length = 4, int(binary.LittleEndian.Uint32(raw)/4)
	}
	if length < header || length > len(raw) {
		return nil, malformed
	}
	return raw[header:length], nil
}

// integer reads a little-endian signed integer of any width.
func integer(raw []byte) *big.Int {
	n := new(big.Int)
	for i := len(raw) - 1; i >= 0; i-- {
		n.Lsh(n, 8).Or(n, big.NewInt(int64(raw[i])))
	}
	if raw[len(raw)-1] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	return n
}

func (o *oracle) arithmetic(a *joincore.Arithmetic, t tuple) (value, error) {
	left, err := o.value(a.Left, t)
	if err != nil {
		return null, err
	}
	right, err := o.value(a.Right, t)
	if err != nil || left.null || right.null {
		return null, err
	}
	result := new(big.Int)
	switch a.Op {
	case joincore.Add:
		result.Add(left.n, right.n)
	case joincore.Subtract:
		result.Sub(left.n, right.n)
	case joincore.Multiply:
		result.Mul(left.n, right.n)
	case joincore.Divide, joincore.Modulo:
		if right.n.Sign() == 0 {
			return null, fmt.Errorf("division by zero: %w", joincore.ErrArithmetic)
		}
		if a.Op == joincore.Divide {
			result.Quo(left.n, right.n)
		} else {
			result.Rem(left.n, right.n)
		}
	default:
		return null, fmt.Errorf("operation %d: %w", a.Op, joincore.ErrUnsupported)
	}
	limit := new(big.Int).Lsh(big.NewInt(1), uint(8*a.Width-1)) // -limit <= result < limit
	if result.Cmp(limit) >= 0 || result.Cmp(new(big.Int).Neg(limit)) < 0 {
		return null, fmt.Errorf("%v needs more than %d bytes: %w", result, a.Width, joincore.ErrArithmetic)
	}
	return value{n: result}, nil
}

func (o *oracle) datePart(d *joincore.DatePart, t tuple) (value, error) {
	day, err := o.value(d.Arg, t)
	if err != nil || day.null {
		return null, err
	}
	if day.n.Cmp(big.NewInt(joincore.FirstDate)) < 0 || day.n.Cmp(big.NewInt(joincore.LastDate)) > 0 {
		return null, fmt.Errorf("%v is no date: %w", day.n, joincore.ErrArithmetic)
	}
	year, month, dayOfMonth := datePart(day.n)
	switch d.Part {
	case joincore.Year:
		return number(year), nil
	case joincore.Month:
		return number(month), nil
	}
	return number(dayOfMonth), nil
}

// order is negative where a is less than b, and 0 where they are equal.
func order(a, b value) int {
	if a.n != nil {
		return a.n.Cmp(b.n)
	}
	return bytes.Compare(a.bytes, b.bytes)
}
