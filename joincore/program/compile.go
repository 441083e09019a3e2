package program

import (
	"fmt"
	"math"
	"slices"

	"gpujoin/joincore"
)

// compiler writes a program. Its first error makes everything after it void.
type compiler struct {
	rows      Rows
	code      []Instruction
	columns   numbers[Operand]
	constants numbers[int64]
	lists     []int64 // of In, behind the constants
	slots     int     // in use
	mostSlots int
	masks     int // saved
	err       error
}

func newCompiler(rows Rows) *compiler {
	return &compiler{rows: rows, columns: newNumbers[Operand](), constants: newNumbers[int64]()}
}

// numbers numbers different things in the order in which they come.
type numbers[T comparable] struct {
	of   map[T]int
	list []T
}

func newNumbers[T comparable]() numbers[T] { return numbers[T]{of: map[T]int{}} }

func (n *numbers[T]) number(v T) int {
	i, ok := n.of[v]
	if !ok {
		i = len(n.list)
		n.of[v] = i
		n.list = append(n.list, v)
	}
	return i
}

func (c *compiler) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// finish returns the program. Lists of In lie behind the other constants.
func (c *compiler) finish() (*Program, error) {
	if c.mostSlots > MaxSlots {
		c.fail(unsupported("an expression that needs %d slots", c.mostSlots))
	}
	constants := append(c.constants.list, c.lists...)
	if len(c.columns.list) > maxIndex || len(constants) > maxIndex || len(c.code) > maxIndex {
		c.fail(unsupported("an expression of %d columns, %d constants and %d instructions", len(c.columns.list), len(constants), len(c.code)))
	}
	if c.err != nil {
		return nil, c.err
	}
	for i, in := range c.code {
		if in.Code() == In {
			c.code[i] += Instruction(len(c.constants.list)) << 16
		}
	}
	return &Program{Code: c.code, Columns: c.columns.list, Constants: constants, Slots: c.mostSlots}, nil
}

// operand is what an instruction combines the accumulator with.
type operand struct {
	kind  Kind
	index int
	wide  bool
}

func (c *compiler) emit(code Code, sub uint8, o operand, flags, extra int) {
	if o.wide {
		flags |= FlagOperandWide
	}
	c.code = append(c.code, Instruction(uint64(code)|uint64(sub)<<8|uint64(o.index&maxIndex)<<16|
		uint64(o.kind)<<32|uint64(flags)<<40|uint64(extra)<<48))
}

func (c *compiler) simple(code Code, sub uint8) { c.emit(code, sub, operand{}, 0, 0) }

func wideFlag(wide bool) int {
	if wide {
		return FlagWide
	}
	return 0
}

// take takes a slot for a value.
func (c *compiler) take(wide bool) operand {
	o := operand{kind: Slot, index: c.slots, wide: wide}
	c.slots += 1
	if wide {
		c.slots++
	}
	c.mostSlots = max(c.mostSlots, c.slots)
	return o
}

// drop frees the slot that was taken last.
func (c *compiler) drop(o operand) { c.slots = o.index }

// store writes the accumulator to a slot that may be wider.
func (c *compiler) store(to operand, wide bool) {
	if to.wide && !wide {
		c.simple(Widen, 0)
	}
	c.emit(Store, 0, operand{index: to.index}, wideFlag(to.wide), 0)
}

func (c *compiler) load(o operand) { c.emit(Load, 0, o, 0, 0) }

func (c *compiler) push(t Test) {
	c.simple(Push, uint8(t))
	if c.masks++; c.masks > maxMasks {
		c.fail(unsupported("an expression that is nested more than %d times", maxMasks))
	}
}

func (c *compiler) pop(code Code) {
	c.masks--
	c.simple(code, 0)
}

// skip jumps, where no row is at work, to where the returned function is called.
func (c *compiler) skip() (land func()) {
	at := len(c.code)
	c.simple(Skip, 0)
	return func() { c.code[at] |= Instruction(len(c.code)) << 32 }
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
			op = mirrored(op)
		}
		c.emit(Compare, uint8(op), o, wideFlag(wide), 0)
		done()
	case *joincore.In:
		c.in(e)
	case *joincore.Like:
		c.fail(unsupported("LIKE"))
	default:
		c.fail(unsupported("condition %T", e))
	}
}

// mirrored returns the comparison with its sides exchanged.
func mirrored(op joincore.CompareOp) joincore.CompareOp {
	switch op {
	case joincore.Less:
		return joincore.Greater
	case joincore.LessEqual:
		return joincore.GreaterEqual
	case joincore.Greater:
		return joincore.Less
	case joincore.GreaterEqual:
		return joincore.LessEqual
	}
	return op
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
		c.load(c.constant(1))
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

// term is an argument of AND or OR.
type term struct {
	emit  func()
	size  int
	fails bool
}

func (c *compiler) conditionTerm(e joincore.Expr) term {
	return term{emit: func() { c.condition(e) }, size: sizeOf(e), fails: joincore.ExprCanFail(e)}
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
		truth := int64(0)
		if code == And {
			truth = 1
		}
		c.load(c.constant(truth))
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
		c.store(slot, false)
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

// size is about how many nodes a value has.
func size(v joincore.Value) int {
	n := 1
	switch v := v.(type) {
	case *joincore.Arithmetic:
		n += size(v.Left) + size(v.Right)
	case *joincore.Case:
		for _, w := range v.Whens {
			n += sizeOf(w.Condition) + size(w.Then)
		}
		n += size(v.Else)
	case *joincore.Coalesce:
		for _, a := range v.Args {
			n += size(a)
		}
	case *joincore.DatePart:
		n += size(v.Arg)
	case *joincore.Truth:
		n += sizeOf(v.Arg)
	}
	return min(n, math.MaxInt32)
}

func sizeOf(e joincore.Expr) int {
	n := 1
	switch e := e.(type) {
	case *joincore.And:
		for _, a := range e.Args {
			n += sizeOf(a)
		}
	case *joincore.Or:
		for _, a := range e.Args {
			n += sizeOf(a)
		}
	case *joincore.Not:
		n += sizeOf(e.Arg)
	case *joincore.IsNull:
		n += size(e.Arg)
	case *joincore.Compare:
		n += size(e.Left) + size(e.Right)
	case *joincore.In:
		n += size(e.Arg)
	}
	return min(n, math.MaxInt32)
}
