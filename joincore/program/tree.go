package program

import (
	"fmt"

	"gpujoin/joincore"
)

// node is a part of a condition before code is generated.
type node struct {
	code  Instruction
	args  []*node
	depth int // stack values needed to evaluate it
}

func leaf(i Instruction) *node { return &node{code: i, depth: 1} }

func constant(truth uint8) *node { return leaf(instruction(Push, truth, 0, 0)) }

// fold combines arguments by And or Or, the deepest first: it starts on an empty stack,
// each of the others with one value on it.
func fold(code Code, args []*node) *node {
	switch len(args) {
	case 0:
		if code == And {
			return constant(True)
		}
		return constant(False)
	case 1:
		return args[0]
	}
	deepest := 0
	for i, a := range args {
		if a.depth > args[deepest].depth {
			deepest = i
		}
	}
	ordered := append([]*node{args[deepest]}, args[:deepest]...)
	n := &node{code: instruction(code, 0, 0, 0), args: append(ordered, args[deepest+1:]...), depth: args[deepest].depth}
	for _, a := range n.args[1:] {
		n.depth = max(n.depth, a.depth+1)
	}
	return n
}

// builder numbers columns and constants while it translates an expression.
type builder struct {
	where      func(joincore.ColumnRef) Where
	parameters []joincore.Parameter
	columns    map[Operand]int
	constants  map[int64]int
}

func (b *builder) node(e joincore.Expr) (*node, error) {
	switch e := e.(type) {
	case *joincore.And:
		return b.fold(And, e.Args)
	case *joincore.Or:
		return b.fold(Or, e.Args)
	case *joincore.Not:
		arg, err := b.node(e.Arg)
		if err != nil {
			return nil, err
		}
		return &node{code: instruction(Not, 0, 0, 0), args: []*node{arg}, depth: arg.depth}, nil
	case *joincore.IsNull:
		ref, ok := e.Arg.(joincore.ColumnRef)
		if !ok {
			return nil, fmt.Errorf("whether a %T is NULL: %w", e.Arg, joincore.ErrUnsupported)
		}
		c := b.column(ref)
		if c.null {
			return constant(True), nil
		}
		return leaf(instruction(IsNull, 0, c.index, 0)), nil
	case *joincore.Compare:
		return b.compare(e)
	}
	return nil, fmt.Errorf("condition %T: %w", e, joincore.ErrUnsupported)
}

func (b *builder) fold(code Code, args []joincore.Expr) (*node, error) {
	nodes := make([]*node, len(args))
	for i, a := range args {
		var err error
		if nodes[i], err = b.node(a); err != nil {
			return nil, err
		}
	}
	return fold(code, nodes), nil
}

func (b *builder) compare(e *joincore.Compare) (*node, error) {
	if e.Op < joincore.Equal || e.Op > joincore.GreaterEqual {
		return nil, fmt.Errorf("comparison %d: %w", e.Op, joincore.ErrUnsupported)
	}
	left, err := b.operand(e.Left)
	if err != nil {
		return nil, err
	}
	right, err := b.operand(e.Right)
	if err != nil {
		return nil, err
	}
	if left.null || right.null {
		return constant(Unknown), nil
	}
	return leaf(instruction(Compare, uint8(e.Op), left.index, right.index)), nil
}

// position is an operand's encoding; null: the operand is NULL for every row.
type position struct {
	index int
	null  bool
}

func (b *builder) operand(x joincore.Value) (position, error) {
	switch x := x.(type) {
	case joincore.ColumnRef:
		return b.column(x), nil
	case joincore.Int:
		return b.constant(int64(x)), nil
	case joincore.ParameterIndex:
		if x < 0 || int(x) >= len(b.parameters) {
			return position{}, fmt.Errorf("parameter %d of %d: %w", x, len(b.parameters), joincore.ErrInvalid)
		}
		p := b.parameters[x]
		if p.Null {
			return position{null: true}, nil
		}
		return b.constant(p.Int), nil
	}
	return position{}, fmt.Errorf("operand %T: %w", x, joincore.ErrUnsupported)
}

func (b *builder) column(c joincore.ColumnRef) position {
	w := b.where(c)
	if w == Nowhere {
		return position{null: true}
	}
	return position{index: number(b.columns, Operand{Column: c, Probe: w == Probe})}
}

func (b *builder) constant(v int64) position {
	return position{index: number(b.constants, v) | Constant}
}

// number returns the number assigned to v, a new one for a new value.
func number[T comparable](seen map[T]int, v T) int {
	n, ok := seen[v]
	if !ok {
		n = len(seen)
		seen[v] = n
	}
	return n
}
