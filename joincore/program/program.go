// Package program compiles conditions over rows into what the device's
// evaluator runs (kernels/block/program.cuh): comparisons of integers, of bytes, and
// SQL's three-valued logic.
//
// A program is a list of instructions over a stack of truth values, two bits
// each, that the device keeps in one register: 32 at most. AND and OR take the
// argument that needs most of the stack first, so that a condition needs no
// more than the logarithm of its size, and jump over what cannot change their
// result.
package program

import (
	"fmt"

	"gpujoin/joincore"
)

// Program is a compiled condition. It leaves one truth value.
type Program struct {
	Code []Instruction
	// Columns are read by instructions. The caller binds each to memory.
	Columns   []Operand
	Constants []int64
}

// Operand is a column of one side of a pair.
type Operand struct {
	Column joincore.ColumnRef
	Probe  bool // of the probe row, else of the build row
}

// Where says which row of a pair has a column.
type Where uint8

const (
	// Nowhere: neither row; it reads as NULL.
	Nowhere Where = iota
	// Build and Probe are the rows of a pair. A filter's row is a Probe row.
	Build
	Probe
)

// Code is what an instruction does.
type Code uint8

const (
	// Push pushes the truth value in Compare.
	Push Code = iota
	// Compare pushes Left op Right, op a joincore.CompareOp in Compare.
	Compare
	// SameBytes pushes whether columns Left and Right have the same bytes.
	SameBytes
	// IsNull pushes whether column Left is NULL.
	IsNull
	// And, Or pop two values and push the lesser, the greater.
	And
	Or
	// Not turns the top around.
	Not
	// SkipFalse, SkipTrue jump to Target where the top is false, true.
	SkipFalse
	SkipTrue
)

// Truth values.
const (
	False uint8 = iota
	Unknown
	True
)

// Constant marks an operand that is not a column but a constant.
const Constant = 1 << 15

// stackDepth is how many truth values the device's stack holds.
const stackDepth = 32

// Instruction has a code in bits 0..7, Compare in 8..15, and either Left in
// 16..31 and Right in 32..47, or Target in 16..47.
type Instruction uint64

func instruction(c Code, compare uint8, left, right int) Instruction {
	return Instruction(uint64(c) | uint64(compare)<<8 | uint64(left)<<16 | uint64(right)<<32)
}

// Code returns what the instruction does.
func (i Instruction) Code() Code { return Code(i) }

// Compare returns the comparison, or the truth value that is pushed.
func (i Instruction) Compare() uint8 { return uint8(i >> 8) }

// Left returns the first operand.
func (i Instruction) Left() int { return int(i >> 16 & 0xffff) }

// Right returns the second operand.
func (i Instruction) Right() int { return int(i >> 32 & 0xffff) }

// Target returns where a jump goes.
func (i Instruction) Target() int { return int(i >> 16 & 0xffffffff) }

// Same is an equality of key columns that has to be checked by their values.
type Same struct {
	Build, Probe joincore.ColumnRef
	Bytes        bool // compare bytes, else integers by value
}

// New compiles the conjunction of equalities and, where it is not nil, of a
// condition. where says which row has a column. ErrUnsupported where the
// condition is too large for the device.
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
