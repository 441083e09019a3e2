package control

import (
	"errors"
	"fmt"
	"math"

	"gpujoin/joincore"
)

// ErrMalformed reports a message that no correct peer sends.
var ErrMalformed = errors.New("malformed message")

// Limits of decoded plans. The planner's own limits are far lower.
const (
	maxDepth   = 256
	maxColumns = 1 << 16 // also inputs, keys, parameters, arguments, functions
	maxList    = 1 << 20 // values of a list
	maxWidth   = 64      // bytes of a value
)

// EncodePlan translates a plan.
func EncodePlan(p *joincore.Plan) (*Plan, error) {
	root, err := encodeNode(p.Root)
	if err != nil {
		return nil, err
	}
	out := &Plan{Root: root, Algorithm: uint32(p.Algorithm)}
	for _, in := range p.Inputs {
		input := &Input{Rows: in.Rows}
		for _, c := range in.Columns {
			input.Columns = append(input.Columns, &Column{Kind: uint32(c.Kind), Width: uint32(c.Width), Align: uint32(c.Align)})
		}
		out.Inputs = append(out.Inputs, input)
	}
	for _, c := range p.Output {
		out.Output = append(out.Output, encodeRef(c))
	}
	for _, v := range p.Parameters {
		out.Parameters = append(out.Parameters, &Parameter{Int: v.Int, Null: v.Null})
	}
	return out, nil
}

func encodeRef(c joincore.ColumnRef) *ColumnRef {
	return &ColumnRef{Input: uint32(c.Input), Column: uint32(c.Column)}
}

func encodeNode(n joincore.Node) (*Node, error) {
	switch n := n.(type) {
	case *joincore.Scan:
		return &Node{Node: &Node_Scan{&Scan{Input: uint32(n.Input)}}}, nil
	case *joincore.Filter:
		child, err := encodeNode(n.Child)
		if err != nil {
			return nil, err
		}
		predicate, err := encodeExpr(n.Predicate)
		return &Node{Node: &Node_Filter{&Filter{Child: child, Predicate: predicate}}}, err
	case *joincore.Join:
		return encodeJoin(n)
	case *joincore.Aggregate:
		return encodeAggregate(n)
	}
	return nil, fmt.Errorf("%w: plan node %T", joincore.ErrUnsupported, n)
}

func encodeJoin(j *joincore.Join) (*Node, error) {
	left, err := encodeNode(j.Left)
	if err != nil {
		return nil, err
	}
	right, err := encodeNode(j.Right)
	if err != nil {
		return nil, err
	}
	out := &Join{Kind: uint32(j.Kind), Left: left, Right: right, Rows: j.Rows}
	for _, k := range j.Keys {
		out.Keys = append(out.Keys, &KeyPair{Left: encodeRef(k.Left), Right: encodeRef(k.Right), Class: uint32(k.Class)})
	}
	if j.Residual != nil {
		if out.Residual, err = encodeExpr(j.Residual); err != nil {
			return nil, err
		}
	}
	return &Node{Node: &Node_Join{out}}, nil
}

// Decode returns the plan. It validates the plan's structure; joincore/exec
// validates its references. Errors wrap ErrMalformed.
func (p *Plan) Decode() (*joincore.Plan, error) {
	if p == nil || max(len(p.Inputs), len(p.Output), len(p.Parameters)) > maxColumns {
		return nil, fmt.Errorf("%w: plan", ErrMalformed)
	}
	if p.Algorithm > math.MaxUint8 {
		return nil, fmt.Errorf("%w: algorithm %d", ErrMalformed, p.Algorithm)
	}
	out := &joincore.Plan{Algorithm: joincore.Algorithm(p.Algorithm)}
	for _, in := range p.Inputs {
		columns, err := decodeColumns(in.GetColumns())
		if err != nil {
			return nil, err
		}
		out.Inputs = append(out.Inputs, joincore.Input{Columns: columns, Rows: in.GetRows()})
	}
	for _, c := range p.Output {
		out.Output = append(out.Output, decodeRef(c))
	}
	for _, v := range p.Parameters {
		out.Parameters = append(out.Parameters, joincore.Parameter{Int: v.GetInt(), Null: v.GetNull()})
	}
	var err error
	out.Root, err = decodeNode(p.Root, 0)
	return out, err
}

func decodeColumns(list []*Column) ([]joincore.Column, error) {
	if len(list) > maxColumns {
		return nil, fmt.Errorf("%w: %d columns", ErrMalformed, len(list))
	}
	var out []joincore.Column
	for _, c := range list {
		d := joincore.Column{Kind: joincore.ColumnKind(c.GetKind()), Width: int(c.GetWidth()), Align: int(c.GetAlign())}
		w := d.Width
		fixed := c.GetKind() == uint32(joincore.Fixed) && (w == 1 || w == 2 || w == 4 || w > 0 && w <= 64 && w%8 == 0)
		varlena := c.GetKind() == uint32(joincore.Varlena) && w == 0
		if !fixed && !varlena || d.Align < 1 || d.Align > 8 {
			return nil, fmt.Errorf("%w: column of kind %d, width %d, alignment %d", ErrMalformed, c.GetKind(), w, d.Align)
		}
		out = append(out, d)
	}
	return out, nil
}

func decodeRef(c *ColumnRef) joincore.ColumnRef {
	return joincore.ColumnRef{Input: int(c.GetInput()), Column: int(c.GetColumn())}
}

func decodeNode(n *Node, depth int) (joincore.Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: a plan deeper than %d", ErrMalformed, maxDepth)
	}
	switch v := n.GetNode().(type) {
	case *Node_Scan:
		return &joincore.Scan{Input: int(v.Scan.GetInput())}, nil
	case *Node_Filter:
		child, err := decodeNode(v.Filter.GetChild(), depth+1)
		if err != nil {
			return nil, err
		}
		predicate, err := decodeExpr(v.Filter.GetPredicate(), 0)
		return &joincore.Filter{Child: child, Predicate: predicate}, err
	case *Node_Join:
		return decodeJoin(v.Join, depth)
	case *Node_Aggregate:
		return decodeAggregate(v.Aggregate, depth)
	}
	return nil, fmt.Errorf("%w: a plan node without a kind", ErrMalformed)
}

func decodeJoin(j *Join, depth int) (joincore.Node, error) {
	if j.GetKind() > uint32(joincore.Anti) || len(j.GetKeys()) > maxColumns {
		return nil, fmt.Errorf("%w: join of kind %d", ErrMalformed, j.GetKind())
	}
	left, err := decodeNode(j.GetLeft(), depth+1)
	if err != nil {
		return nil, err
	}
	right, err := decodeNode(j.GetRight(), depth+1)
	if err != nil {
		return nil, err
	}
	out := &joincore.Join{Kind: joincore.Kind(j.GetKind()), Left: left, Right: right, Rows: j.GetRows()}
	for _, k := range j.GetKeys() {
		if k.GetClass() > uint32(joincore.KeyVarlena) {
			return nil, fmt.Errorf("%w: key class %d", ErrMalformed, k.GetClass())
		}
		out.Keys = append(out.Keys, joincore.KeyPair{
			Left: decodeRef(k.GetLeft()), Right: decodeRef(k.GetRight()), Class: joincore.KeyClass(k.GetClass()),
		})
	}
	if j.GetResidual() != nil {
		out.Residual, err = decodeExpr(j.GetResidual(), 0)
	}
	return out, err
}
