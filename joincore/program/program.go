// Package program compiles values, conditions and aggregates over rows into one kind
// of program, which devices interpret (kernels/block/machine.cuh): integers of up to
// 128 bits, SQL's three-valued logic, and updates of groups.
//
// The machine has one accumulator, which is an integer, a truth value or NULL, and
// slots to which it is stored. An operation combines the accumulator with an operand:
// a column, a constant or a slot. A device works on several rows at a time, each with
// an accumulator and slots of its own; truth values are bits of masks, one bit a row,
// so that operations on them cost the same for any number of rows. A stack of masks
// says which rows are at work. Only those change slots, and only those can fail: an
// argument of AND is evaluated for the rows that it may decide, and an arm of CASE
// for the rows that take it. Errors are therefore those of SQL.
package program

import (
	"fmt"

	"gpujoin/joincore"
)

// Program is compiled code.
type Program struct {
	Code []Instruction
	// Columns are the columns that instructions read; the caller binds each to memory.
	Columns   []Operand
	Constants []int64
	// Slots is how many slots of 8 bytes each row needs. A value of 16 bytes takes two.
	Slots int
	// Filter is the number of instructions at the beginning that only decide which rows
	// stay at work: those for which the condition of an aggregate is true. Nothing that
	// they store is read behind them, so a device may run them for many rows first.
	Filter int
	// FilterColumns is how many columns, the first ones, those instructions read.
	FilterColumns int
	// Grouped is the number of instructions up to Group, and GroupedColumns that of the
	// columns, the first ones, that they read.
	Grouped, GroupedColumns int
	// Wide says that an accumulator may have 16 bytes.
	Wide bool
}

// Operand is a column of one side of a pair.
type Operand struct {
	Column joincore.ColumnRef
	Probe  bool // of the probe row, else of the build row
}

// Where is the row of a pair that has a column.
type Where uint8

const (
	// Nowhere: neither row; the column reads as NULL.
	Nowhere Where = iota
	// Build and Probe are the rows of a pair. The rows of a filter and of an
	// aggregate are Probe rows.
	Build
	Probe
)

// Rows says where the columns are that a program reads.
type Rows struct {
	// Where returns the row that has a column.
	Where func(joincore.ColumnRef) Where
	// Column describes a column of the plan.
	Column func(joincore.ColumnRef) joincore.Column
	// Parameters are those of the plan.
	Parameters []joincore.Parameter
}

// Code is an operation.
type Code uint8

const (
	// Load makes the operand the accumulator.
	Load Code = iota
	// LoadNull makes it NULL.
	LoadNull
	// Store writes it to slot Index, in the rows at work.
	Store
	// Widen extends it to 16 bytes.
	Widen
	// Arithmetic makes it the result of a joincore.ArithmeticOp, in Sub, with the
	// operand; Extra is the width of the result in bytes.
	Arithmetic
	// Compare makes it the truth of a joincore.CompareOp, in Sub, with the operand.
	Compare
	// CompareConstant is Compare of an accumulator of 8 bytes with constant Index; with
	// FlagNarrow only rows for which it is true stay at work.
	CompareConstant
	// SameBytes makes it whether columns Index and Extra have the same bytes.
	SameBytes
	// NullColumn makes it whether column Index, of any type, is NULL.
	NullColumn
	// IsNull makes it whether it is NULL.
	IsNull
	// Truth makes it true if Sub is 1, else false.
	Truth
	// Number makes the truth value an integer, 0 or 1.
	Number
	// NullWhereTrue makes it NULL where it is true, else 0.
	NullWhereTrue
	// StoreTruth writes the truth value to slot Index, in the rows at work.
	StoreTruth
	// Not negates a truth value.
	Not
	// And and Or combine it with the truth value in slot Index in the rows at work, and
	// make it that of the slot in the others.
	And
	Or
	// In makes it whether it is one of Extra constants in ascending order from Index
	// on; with FlagNull, the list also holds a NULL.
	In
	// DatePart makes it a joincore.DateField, in Sub.
	DatePart
	// Decimal fails where it is not a number.
	Decimal
	// Push saves which rows are at work and keeps of them those of a Test, in Sub.
	Push
	// Narrow keeps the rows of a Test.
	Narrow
	// Pop goes back to the rows that were saved last.
	Pop
	// PopOthers goes back to those of them that are not at work now.
	PopOthers
	// Skip jumps to Target if no row is at work.
	Skip
	// Key adds the low Sub bits to word Index of the key, from bit Extra on, unless
	// it is NULL; with FlagNull a NULL is a group of its own instead, with FlagKeyNull
	// it sets the bit behind those.
	Key
	// KeyNull sets bit Extra of word Index of the key where it is NULL.
	KeyNull
	// Group finds the groups of the rows at work.
	Group
	// Update adds it to the cell of its row's group that begins at word Index, whose
	// CellKind is in Sub and whose CellPlace.Local is in Extra. It leaves out NULLs,
	// unless FlagRows is set.
	Update
)

// Test says which rows stay at work.
type Test uint8

// Tests of the accumulator: of its truth value, but for WhereNull.
const (
	All Test = iota
	WhereTrue
	WhereNotTrue
	WhereNotFalse
	WhereNull
)

// Kind says what an operand is.
type Kind uint8

// Operands are numbered in Index.
const (
	None Kind = iota
	Column
	Constant
	Slot
)

// Flags of an instruction.
const (
	FlagWide        = 1 << iota // the accumulator has 16 bytes
	FlagOperandWide             // so has the operand
	FlagReversed                // the operand is on the left
	FlagNull
	FlagRows
	FlagNarrow
	FlagKeyNull
)

// Limits of the device's interpreter.
const (
	// MaxSlots bounds Program.Slots.
	MaxSlots = 24
	// maxMasks is how many masks the stack holds.
	maxMasks = 16
	// maxIndex bounds what an instruction can name.
	maxIndex = 1<<16 - 1
)

// Instruction has its Code in bits 0..7, Sub in 8..15, Index in 16..31, the
// operand's Kind in 32..39, flags in 40..47 and Extra in 48..63. The Target of a
// jump is in bits 32..63.
type Instruction uint64

// Code returns the operation.
func (i Instruction) Code() Code { return Code(i) }

// Sub returns what the operation does in detail.
func (i Instruction) Sub() uint8 { return uint8(i >> 8) }

// Index returns the number of a column, constant, slot, key word or cell.
func (i Instruction) Index() int { return int(i >> 16 & maxIndex) }

// Kind returns what Index numbers.
func (i Instruction) Kind() Kind { return Kind(i >> 32) }

// Flag says whether a flag is set.
func (i Instruction) Flag(flag int) bool { return int(i>>40)&flag != 0 }

// Extra returns a second number.
func (i Instruction) Extra() int { return int(i >> 48) }

// wide says whether the accumulator or an operand has 16 bytes.
func (i Instruction) wide() bool {
	return i.Code() != Skip && i.Flag(FlagWide|FlagOperandWide) || i.Code() == Widen || i.Code() == Arithmetic && i.Extra() == 16
}

// Target returns the instruction to which a jump goes.
func (i Instruction) Target() int { return int(i >> 32) }

// Same is an equality of key columns that must be checked by value.
type Same struct {
	Build, Probe joincore.ColumnRef
	Bytes        bool // compare bytes, else integers by value
}

// New compiles the conjunction of equalities and, if not nil, a condition. It leaves
// a truth value. It returns ErrUnsupported if the condition is too large for the
// device or reads bytes, ErrInvalid for a parameter that does not exist.
func New(same []Same, e joincore.Expr, rows Rows) (*Program, error) {
	c := newCompiler(rows)
	var args []term
	for _, s := range same {
		args = append(args, c.same(s))
	}
	if e != nil {
		args = append(args, c.conditionTerm(e))
	}
	c.junction(And, args)
	return c.finish()
}

// Check says whether a device can evaluate a condition; the error wraps
// ErrUnsupported.
func Check(e joincore.Expr, column func(joincore.ColumnRef) joincore.Column, parameters int) error {
	_, err := New(nil, e, checked(column, parameters))
	return err
}

// checked describes rows that have all columns.
func checked(column func(joincore.ColumnRef) joincore.Column, parameters int) Rows {
	return Rows{
		Where: func(joincore.ColumnRef) Where { return Probe }, Column: column, Parameters: make([]joincore.Parameter, parameters),
	}
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, joincore.ErrUnsupported)...)
}

// CheckPlan returns an error that wraps ErrUnsupported where devices that run these
// programs cannot execute a part of a plan.
func CheckPlan(plan *joincore.Checked) error {
	schema := plan.Schema()
	c := &planCheck{plan: plan, schema: schema, fetched: map[joincore.ColumnRef]bool{}}
	for _, a := range joincore.Aggregates(plan.Root) {
		for i := range a.Carry {
			ref := joincore.ColumnRef{Input: a.ID, Column: len(a.Keys) + i}
			c.fetched[ref] = !gathered(schema.Column(ref))
		}
	}
	for n := range joincore.Nodes(plan.Root) {
		if err := c.node(n); err != nil {
			return err
		}
	}
	return nil
}

type planCheck struct {
	plan   *joincore.Checked
	schema joincore.Schema
	// fetched are the columns of groups that the host fetches at the end: carried ones
	// that kernels do not gather. Steps above the groups cannot read them.
	fetched map[joincore.ColumnRef]bool
}

// gathered reports whether kernels gather the values of a column.
func gathered(c joincore.Column) bool {
	return c.Kind == joincore.Fixed && (c.Width <= 8 || c.Width == 16)
}

// reads checks the columns that a step reads.
func (c *planCheck) reads(what string, columns ...joincore.ColumnRef) error {
	for _, ref := range columns {
		if c.fetched[ref] {
			return unsupported("%s over a carried column that the host fetches", what)
		}
	}
	return nil
}

// node checks a node of which those below are checked.
func (c *planCheck) node(n joincore.Node) error {
	switch n := n.(type) {
	case *joincore.Filter:
		return c.condition("filter", n.Predicate)
	case *joincore.Join:
		for _, k := range n.Keys {
			if err := c.reads("join", k.Left, k.Right); err != nil {
				return err
			}
		}
		if n.Residual == nil {
			return nil
		}
		return c.condition("join condition", n.Residual)
	case *joincore.Aggregate:
		if _, err := NewGroups(nil, n.Keys, n.Functions, c.schema[n.ID], checked(c.schema.Column, len(c.plan.Parameters))); err != nil {
			return fmt.Errorf("aggregate: %w", err)
		}
		own := *n
		own.Carry = nil
		return c.reads("aggregate", joincore.AggregateColumns(&own)...)
	}
	return nil
}

func (c *planCheck) condition(what string, e joincore.Expr) error {
	if err := Check(e, c.schema.Column, len(c.plan.Parameters)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return c.reads(what, joincore.Columns(e)...)
}
