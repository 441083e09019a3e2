package program

import (
	"fmt"

	"gpujoin/joincore"
)

// operandOf returns a value that needs no code: a column, a constant.
func (c *compiler) operandOf(v joincore.Value) (operand, bool) {
	switch v := v.(type) {
	case joincore.ColumnRef:
		return c.column(v)
	case joincore.Int:
		return c.constant(int64(v)), true
	case joincore.ParameterIndex:
		if v < 0 || int(v) >= len(c.rows.Parameters) {
			c.fail(fmt.Errorf("parameter %d of %d: %w", v, len(c.rows.Parameters), joincore.ErrInvalid))
			return operand{}, false
		}
		if p := c.rows.Parameters[v]; !p.Null {
			return c.constant(p.Int), true
		}
	}
	return operand{}, false
}

func (c *compiler) constant(n int64) operand {
	return operand{kind: Constant, index: c.constants.number(n)}
}

// column returns a column of integers, or false if it is NULL in all rows.
func (c *compiler) column(ref joincore.ColumnRef) (operand, bool) {
	desc := c.rows.Column(ref)
	switch {
	case desc.Kind != joincore.Fixed:
		c.fail(unsupported("a column of variable length in an expression"))
	case desc.Width > 8 && desc.Width != 16:
		c.fail(unsupported("a column of %d bytes in an expression", desc.Width))
	}
	return c.anyColumn(ref)
}

func (c *compiler) anyColumn(ref joincore.ColumnRef) (operand, bool) {
	w := c.rows.Where(ref)
	if w == Nowhere {
		return operand{}, false
	}
	return operand{kind: Column, index: c.columns.number(Operand{Column: ref, Probe: w == Probe}), wide: c.rows.Column(ref).Width == 16}, true
}

// value makes a value the accumulator, and says whether it has 16 bytes.
func (c *compiler) value(v joincore.Value) (wide bool) {
	if o, ok := c.operandOf(v); ok {
		c.load(o)
		return o.wide
	}
	switch v := v.(type) {
	case joincore.ColumnRef, joincore.ParameterIndex:
		c.simple(LoadNull, 0)
	case joincore.Null:
		if v.Width == 0 {
			c.fail(unsupported("an expression over bytes"))
		}
		c.simple(LoadNull, 0)
	case joincore.Decimal:
		c.value(v.Column)
		c.simple(Decimal, 0)
	case *joincore.Arithmetic:
		return c.arithmetic(v)
	case *joincore.Case:
		return c.caseOf(v)
	case *joincore.Coalesce:
		return c.coalesce(v)
	case *joincore.DatePart:
		c.emit(DatePart, uint8(v.Part), operand{}, wideFlag(c.value(v.Arg)), 0)
	case *joincore.Truth:
		c.condition(v.Arg)
		c.simple(Number, 0)
	default:
		c.fail(unsupported("an expression over bytes"))
	}
	return false
}

// isWide says whether a value has 16 bytes.
func (c *compiler) isWide(v joincore.Value) bool {
	t, err := joincore.ValueType(v, c.rows.Column)
	if err != nil {
		c.fail(err)
	}
	return t.Width == 16
}

// both evaluates two values: one becomes the accumulator, the other an operand. The
// larger one that is not an operand as it is goes first, so that the other one, of
// at most half of the nodes, finds one slot taken: slots are logarithmic.
func (c *compiler) both(left, right joincore.Value) (wide bool, o operand, reversed bool, done func()) {
	if o, ok := c.operandOf(right); ok {
		return c.value(left), o, false, func() {}
	}
	if o, ok := c.operandOf(left); ok {
		return c.value(right), o, true, func() {}
	}
	first, second, reversed := left, right, true
	if size(right) > size(left) {
		first, second, reversed = right, left, false
	}
	firstWide := c.value(first)
	slot := c.take(firstWide)
	c.store(slot, firstWide)
	return c.value(second), slot, reversed, func() { c.drop(slot) }
}

func (c *compiler) arithmetic(a *joincore.Arithmetic) bool {
	wide, o, reversed, done := c.both(a.Left, a.Right)
	flags := wideFlag(wide)
	if reversed {
		flags |= FlagReversed
	}
	c.emit(Arithmetic, uint8(a.Op), o, flags, a.Width)
	done()
	return a.Width == 16
}

// caseOf stores the value of each arm in the rows that take it.
func (c *compiler) caseOf(v *joincore.Case) bool {
	wide := c.isWide(v)
	result := c.take(wide)
	c.push(All)
	for _, w := range v.Whens {
		c.condition(w.Condition)
		c.push(WhereTrue)
		land := c.skip()
		c.store(result, c.value(w.Then))
		land()
		c.pop(PopOthers)
	}
	land := c.skip()
	c.store(result, c.value(v.Else))
	land()
	c.pop(Pop)
	c.drop(result)
	c.load(result)
	return wide
}

func (c *compiler) coalesce(v *joincore.Coalesce) bool {
	wide := c.isWide(v)
	result := c.take(wide)
	c.push(All)
	var lands []func()
	for i, a := range v.Args {
		if i > 0 {
			c.simple(Narrow, uint8(WhereNull))
			lands = append(lands, c.skip())
		}
		c.store(result, c.value(a))
	}
	for _, land := range lands {
		land()
	}
	c.pop(Pop)
	c.drop(result)
	c.load(result)
	return wide
}
