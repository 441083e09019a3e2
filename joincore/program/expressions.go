package program

import (
	"fmt"
	"slices"

	"gpujoin/joincore"
)

// filter emits a condition and keeps the rows for which it is true. Where no argument
// of AND can fail, each argument is evaluated for the rows that are left, and a row
// for which one is NULL is left out at once. Conditions may follow each other.
func (c *compiler) filter(e joincore.Expr) {
	args := conjuncts(e)
	if joincore.CanFail(e) {
		args = []joincore.Expr{e}
	}
	var lands []func()
	for i, a := range args {
		c.condition(a)
		if c.err != nil {
			return
		}
		if last := &c.code[len(c.code)-1]; last.Code() == CompareConstant {
			*last |= FlagNarrow << 40
		} else {
			c.simple(Narrow, uint8(WhereTrue))
		}
		if i < len(args)-1 {
			lands = append(lands, c.skip())
		}
	}
	for _, land := range lands {
		land()
	}
	c.filterLength, c.filterColumns = len(c.code), len(c.columns.list)
}

// conjuncts returns the arguments of AND, of nested ones too.
func conjuncts(e joincore.Expr) []joincore.Expr {
	and, ok := e.(*joincore.And)
	if !ok {
		return []joincore.Expr{e}
	}
	var out []joincore.Expr
	for _, a := range and.Args {
		out = append(out, conjuncts(a)...)
	}
	return out
}

// condition makes the truth of a condition the accumulator.
func (c *compiler) condition(e joincore.Expr) {
	switch e := e.(type) {
	case *joincore.And:
		c.junction(And, c.terms(e.Args))
	case *joincore.Or:
		c.junction(Or, c.terms(e.Args))
	case *joincore.Not:
		c.condition(e.Arg)
		c.simple(Not, 0)
	case *joincore.IsNull:
		c.isNull(e)
	case *joincore.Compare:
		wide, o, reversed, done := c.both(e.Left, e.Right)
		op := e.Op
		if reversed {
			op = op.Mirrored()
		}
		if o.kind == Constant && !wide {
			c.emit(CompareConstant, uint8(op), operand{index: o.index}, 0, 0)
		} else {
			c.emit(Compare, uint8(op), o, wideFlag(wide), 0)
		}
		done()
	case *joincore.In:
		c.in(e)
	case *joincore.Like:
		c.fail(unsupported("LIKE"))
	default:
		c.fail(unsupported("condition %T", e))
	}
}

func (c *compiler) isNull(e *joincore.IsNull) {
	ref, ok := e.Arg.(joincore.ColumnRef)
	if !ok {
		c.value(e.Arg)
		c.simple(IsNull, 0)
		return
	}
	if o, ok := c.anyColumn(ref); ok {
		c.emit(NullColumn, 0, operand{index: o.index}, 0, 0)
	} else {
		c.simple(Truth, 1)
	}
}

func (c *compiler) in(e *joincore.In) {
	if len(e.Texts) > 0 {
		c.fail(unsupported("a list of bytes"))
		return
	}
	wide := c.value(e.Arg)
	list := slices.Clone(e.Ints)
	slices.Sort(list)
	list = slices.Compact(list)
	if len(c.lists)+len(list) > maxIndex/2 {
		c.fail(unsupported("a list of %d values", len(list)))
		return
	}
	flags := wideFlag(wide)
	if e.Null {
		flags |= FlagNull
	}
	c.emit(In, 0, operand{index: len(c.lists)}, flags, len(list))
	c.lists = append(c.lists, list...)
}

// size is how many terms a condition or a value has.
func size(term any) (n int) {
	for range joincore.Terms(term) {
		n++
	}
	return n
}

// term is an argument of AND or OR.
type term struct {
	emit  func()
	size  int
	fails bool
}

func (c *compiler) conditionTerm(e joincore.Expr) term {
	return term{emit: func() { c.condition(e) }, size: size(e), fails: joincore.CanFail(e)}
}

func (c *compiler) terms(args []joincore.Expr) []term {
	out := make([]term, len(args))
	for i, a := range args {
		out[i] = c.conditionTerm(a)
	}
	return out
}

// same compares key columns.
func (c *compiler) same(s Same) term {
	return term{size: 1, emit: func() {
		if !s.Bytes {
			c.condition(&joincore.Compare{Op: joincore.Equal, Left: s.Build, Right: s.Probe})
			return
		}
		left, ok := c.anyColumn(s.Build)
		right, both := c.anyColumn(s.Probe)
		if ok && both {
			c.emit(SameBytes, 0, operand{index: left.index}, 0, right.index)
		} else {
			c.simple(LoadNull, 0)
		}
	}}
}

// junction combines truth values from left to right, each in the rows that are not
// decided. If none can fail the largest one goes first, when no slot is taken and no
// mask saved: both are then logarithmic.
func (c *compiler) junction(code Code, args []term) {
	if len(args) == 0 {
		truth := uint8(0)
		if code == And {
			truth = 1
		}
		c.simple(Truth, truth)
		return
	}
	largest, fails := 0, false
	for i, a := range args {
		fails = fails || a.fails
		if a.size > args[largest].size {
			largest = i
		}
	}
	if !fails && largest > 0 && args[largest].size > 1 {
		first := args[largest]
		args = slices.Insert(slices.Delete(slices.Clone(args), largest, largest+1), 0, first)
	}
	args[0].emit()
	if len(args) == 1 {
		return
	}
	open := WhereNotFalse
	if code == Or {
		open = WhereNotTrue
	}
	slot := c.take(false)
	for i, a := range args[1:] {
		c.emit(StoreTruth, 0, operand{index: slot.index}, 0, 0)
		if i == 0 {
			c.push(open)
		} else {
			c.simple(Narrow, uint8(open))
		}
		land := c.skip()
		a.emit()
		land()
		c.emit(code, 0, operand{index: slot.index}, 0, 0)
	}
	c.pop(Pop)
	c.drop(slot)
}

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
