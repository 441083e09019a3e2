// Package program compiles conditions over rows into instructions that the device
// evaluates (kernels/block/program.cuh): comparisons of integers and of bytes, and
// SQL's three-valued logic.
//
// A program is a list of instructions over a stack of at most 32 truth values of two
// bits each, which the device keeps in one register. AND and OR evaluate the argument
// with the deepest stack first, so that the depth is logarithmic in the condition's
// size, and skip arguments that cannot change their result.
package program

import (
	"fmt"

	"gpujoin/joincore"
)

// Program is a compiled condition. It leaves one truth value on the stack.
type Program struct {
	Code []Instruction
	// Columns are the columns that instructions read; the caller binds each to memory.
	Columns   []Operand
	Constants []int64
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
	// Build and Probe are the rows of a pair. A filter's row is a Probe row.
	Build
	Probe
)

// Code is an operation.
type Code uint8

const (
	// Push pushes the truth value in the instruction's Compare field.
	Push Code = iota
	// Compare pushes Left op Right; op, a joincore.CompareOp, is in Compare.
	Compare
	// SameBytes pushes whether columns Left and Right have the same bytes.
	SameBytes
	// IsNull pushes whether column Left is NULL.
	IsNull
	// And, Or pop two values and push the minimum, the maximum.
	And
	Or
	// Not negates the top of the stack.
	Not
	// SkipFalse, SkipTrue jump to Target if the top is false, true.
	SkipFalse
	SkipTrue
)

// Truth values.
const (
	False uint8 = iota
	Unknown
	True
)

// Constant marks an operand as an index of Constants instead of Columns.
const Constant = 1 << 15

// stackDepth is the number of truth values that the device's stack holds.
const stackDepth = 32

// Instruction has its code in bits 0..7, Compare in 8..15, and either Left in 16..31
// and Right in 32..47, or Target in 16..47.
type Instruction uint64

func instruction(c Code, compare uint8, left, right int) Instruction {
	return Instruction(uint64(c) | uint64(compare)<<8 | uint64(left)<<16 | uint64(right)<<32)
}

// Code returns the operation.
func (i Instruction) Code() Code { return Code(i) }

// Compare returns the comparison, or the truth value to push.
func (i Instruction) Compare() uint8 { return uint8(i >> 8) }

// Left returns the first operand.
func (i Instruction) Left() int { return int(i >> 16 & 0xffff) }

// Right returns the second operand.
func (i Instruction) Right() int { return int(i >> 32 & 0xffff) }

// Target returns the instruction to which a jump goes.
func (i Instruction) Target() int { return int(i >> 16 & 0xffffffff) }

// Same is an equality of key columns that must be checked by value.
type Same struct {
	Build, Probe joincore.ColumnRef
	Bytes        bool // compare bytes, else integers by value
}

// New compiles the conjunction of equalities and, if not nil, a condition. where
// returns the row that has a column. It returns ErrUnsupported if the condition is too
// large for the device, ErrInvalid for a parameter that does not exist.
func New(same []Same, e joincore.Expr, parameters []joincore.Parameter, where func(joincore.ColumnRef) Where) (*Program, error) {
	b := &builder{where: where, parameters: parameters, columns: map[Operand]int{}, constants: map[int64]int{}}
	var args []*node
	for _, s := range same {
		left, right := b.column(s.Build), b.column(s.Probe)
		switch {
		case left.null || right.null:
			args = append(args, constant(Unknown))
		case s.Bytes:
			args = append(args, leaf(instruction(SameBytes, 0, left.index, right.index)))
		default:
			args = append(args, leaf(instruction(Compare, uint8(joincore.Equal), left.index, right.index)))
		}
	}
	if e != nil {
		n, err := b.node(e)
		if err != nil {
			return nil, err
		}
		args = append(args, n)
	}
	root := fold(And, args)
	if root.depth > stackDepth || len(b.columns) >= Constant || len(b.constants) >= Constant {
		return nil, fmt.Errorf("condition with %d columns, %d constants and depth %d: %w", len(b.columns), len(b.constants), root.depth, joincore.ErrUnsupported)
	}
	p := &Program{Columns: make([]Operand, len(b.columns)), Constants: make([]int64, len(b.constants))}
	for o, i := range b.columns {
		p.Columns[i] = o
	}
	for c, i := range b.constants {
		p.Constants[i] = c
	}
	p.emit(root)
	return p, nil
}

// emit appends a node's instructions.
func (p *Program) emit(n *node) {
	if len(n.args) == 0 {
		p.Code = append(p.Code, n.code)
		return
	}
	skip := SkipFalse
	if n.code.Code() == Or {
		skip = SkipTrue
	}
	p.emit(n.args[0])
	if n.code.Code() == Not {
		p.Code = append(p.Code, n.code)
		return
	}
	var jumps []int
	for _, a := range n.args[1:] {
		jumps = append(jumps, len(p.Code))
		p.Code = append(p.Code, 0)
		p.emit(a)
		p.Code = append(p.Code, n.code)
	}
	for _, at := range jumps {
		p.Code[at] = instruction(skip, 0, len(p.Code)&0xffff, len(p.Code)>>16)
	}
}
