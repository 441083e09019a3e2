package control

import (
	"fmt"
	"math"

	"gpujoin/joincore"
)

func encodeAggregate(a *joincore.Aggregate) (*Node, error) {
	child, err := encodeNode(a.Child)
	if err != nil {
		return nil, err
	}
	out := &Aggregate{Child: child, Id: uint32(a.ID), Rows: a.Rows}
	if out.Keys, err = encodeValues(a.Keys); err != nil {
		return nil, err
	}
	for _, c := range a.Carry {
		out.Carry = append(out.Carry, encodeRef(c))
	}
	for i := range a.Functions {
		f := &a.Functions[i]
		function := &Function{Kind: uint32(f.Kind), Distinct: f.Distinct}
		if f.Arg != nil {
			if function.Arg, err = encodeValue(f.Arg); err != nil {
				return nil, err
			}
		}
		if f.Filter != nil {
			if function.Filter, err = encodeExpr(f.Filter); err != nil {
				return nil, err
			}
		}
		out.Functions = append(out.Functions, function)
	}
	return &Node{Node: &Node_Aggregate{out}}, nil
}

func decodeAggregate(a *Aggregate, depth int) (joincore.Node, error) {
	if max(len(a.GetKeys()), len(a.GetCarry()), len(a.GetFunctions())) > maxColumns {
		return nil, fmt.Errorf("%w: an aggregate of %d keys, %d carried columns and %d functions",
			ErrMalformed, len(a.GetKeys()), len(a.GetCarry()), len(a.GetFunctions()))
	}
	child, err := decodeNode(a.GetChild(), depth+1)
	if err != nil {
		return nil, err
	}
	out := &joincore.Aggregate{Child: child, ID: int(a.GetId()), Rows: a.GetRows()}
	if out.Keys, err = decodeValues(a.GetKeys(), 0); err != nil {
		return nil, err
	}
	for _, c := range a.GetCarry() {
		out.Carry = append(out.Carry, decodeRef(c))
	}
	for _, f := range a.GetFunctions() {
		if f.GetKind() > math.MaxUint8 {
			return nil, fmt.Errorf("%w: function %d", ErrMalformed, f.GetKind())
		}
		function := joincore.Function{Kind: joincore.FunctionKind(f.GetKind()), Distinct: f.GetDistinct()}
		if f.GetArg() != nil {
			if function.Arg, err = decodeValue(f.GetArg(), 0); err != nil {
				return nil, err
			}
		}
		if f.GetFilter() != nil {
			if function.Filter, err = decodeExpr(f.GetFilter(), 0); err != nil {
				return nil, err
			}
		}
		out.Functions = append(out.Functions, function)
	}
	return out, nil
}
