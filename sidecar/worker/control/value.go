package control

import (
	"fmt"
	"math"

	"gpujoin/joincore"
)

func encodeValue(v joincore.Value) (*Value, error) {
	switch v := v.(type) {
	case joincore.ColumnRef:
		return &Value{Value: &Value_Column{encodeRef(v)}}, nil
	case joincore.Int:
		return &Value{Value: &Value_Int{int64(v)}}, nil
	case joincore.ParameterIndex:
		return &Value{Value: &Value_Parameter{uint32(v)}}, nil
	case joincore.Decimal:
		return &Value{Value: &Value_Decimal{encodeRef(v.Column)}}, nil
	case joincore.Null:
		return &Value{Value: &Value_Null{uint32(v.Width)}}, nil
	case *joincore.Text:
		return &Value{Value: &Value_Text{v.Bytes}}, nil
	case *joincore.Arithmetic:
		args, err := encodeValues([]joincore.Value{v.Left, v.Right})
		if err != nil {
			return nil, err
		}
		return &Value{Value: &Value_Arithmetic{&Arithmetic{Op: uint32(v.Op), Width: uint32(v.Width), Left: args[0], Right: args[1]}}}, nil
	case *joincore.Case:
		return encodeCase(v)
	case *joincore.Coalesce:
		args, err := encodeValues(v.Args)
		return &Value{Value: &Value_Coalesce{&Values{Args: args}}}, err
	case *joincore.DatePart:
		arg, err := encodeValue(v.Arg)
		return &Value{Value: &Value_DatePart{&DatePart{Part: uint32(v.Part), Arg: arg}}}, err
	case *joincore.Substring:
		arg, err := encodeValue(v.Arg)
		return &Value{Value: &Value_Substring{&Substring{Arg: arg, From: int64(v.From), For: int64(v.For), Encoding: uint32(v.Characters)}}}, err
	case *joincore.Truth:
		arg, err := encodeExpr(v.Arg)
		return &Value{Value: &Value_Truth{arg}}, err
	}
	return nil, fmt.Errorf("%w: value %T", joincore.ErrUnsupported, v)
}

func encodeValues(list []joincore.Value) ([]*Value, error) {
	var out []*Value
	for _, v := range list {
		e, err := encodeValue(v)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func encodeCase(c *joincore.Case) (*Value, error) {
	out := &Case{}
	for _, w := range c.Whens {
		condition, err := encodeExpr(w.Condition)
		if err != nil {
			return nil, err
		}
		then, err := encodeValue(w.Then)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, &When{Condition: condition, Then: then})
	}
	var err error
	out.Else, err = encodeValue(c.Else)
	return &Value{Value: &Value_Case{out}}, err
}

func decodeValue(v *Value, depth int) (joincore.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: an expression deeper than %d", ErrMalformed, maxDepth)
	}
	switch v := v.GetValue().(type) {
	case *Value_Column:
		return decodeRef(v.Column), nil
	case *Value_Int:
		return joincore.Int(v.Int), nil
	case *Value_Parameter:
		return joincore.ParameterIndex(v.Parameter), nil
	case *Value_Decimal:
		return joincore.Decimal{Column: decodeRef(v.Decimal)}, nil
	case *Value_Null:
		return joincore.Null{Width: int(v.Null)}, nil
	case *Value_Text:
		return &joincore.Text{Bytes: v.Text}, nil
	case *Value_Arithmetic:
		return decodeArithmetic(v.Arithmetic, depth)
	case *Value_Case:
		return decodeCase(v.Case, depth)
	case *Value_Coalesce:
		args, err := decodeValues(v.Coalesce.GetArgs(), depth)
		return &joincore.Coalesce{Args: args}, err
	case *Value_DatePart:
		if v.DatePart.GetPart() > math.MaxUint8 {
			return nil, fmt.Errorf("%w: part %d of a date", ErrMalformed, v.DatePart.GetPart())
		}
		arg, err := decodeValue(v.DatePart.GetArg(), depth+1)
		return &joincore.DatePart{Part: joincore.DateField(v.DatePart.GetPart()), Arg: arg}, err
	case *Value_Substring:
		return decodeSubstring(v.Substring, depth)
	case *Value_Truth:
		arg, err := decodeExpr(v.Truth, depth+1)
		return &joincore.Truth{Arg: arg}, err
	}
	return nil, fmt.Errorf("%w: a value without a kind", ErrMalformed)
}

func decodeValues(list []*Value, depth int) ([]joincore.Value, error) {
	if len(list) > maxColumns {
		return nil, fmt.Errorf("%w: %d values", ErrMalformed, len(list))
	}
	var out []joincore.Value
	for _, a := range list {
		v, err := decodeValue(a, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func decodeArithmetic(a *Arithmetic, depth int) (joincore.Value, error) {
	if a.GetOp() > math.MaxUint8 || a.GetWidth() > maxWidth {
		return nil, fmt.Errorf("%w: operation %d of width %d", ErrMalformed, a.GetOp(), a.GetWidth())
	}
	left, err := decodeValue(a.GetLeft(), depth+1)
	if err != nil {
		return nil, err
	}
	right, err := decodeValue(a.GetRight(), depth+1)
	return &joincore.Arithmetic{Op: joincore.ArithmeticOp(a.GetOp()), Width: int(a.GetWidth()), Left: left, Right: right}, err
}

func decodeCase(c *Case, depth int) (joincore.Value, error) {
	if len(c.GetWhens()) > maxColumns {
		return nil, fmt.Errorf("%w: a case of %d arms", ErrMalformed, len(c.GetWhens()))
	}
	out := &joincore.Case{}
	for _, w := range c.GetWhens() {
		condition, err := decodeExpr(w.GetCondition(), depth+1)
		if err != nil {
			return nil, err
		}
		then, err := decodeValue(w.GetThen(), depth+1)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, joincore.When{Condition: condition, Then: then})
	}
	var err error
	out.Else, err = decodeValue(c.GetElse(), depth+1)
	return out, err
}

func decodeSubstring(s *Substring, depth int) (joincore.Value, error) {
	from, length := s.GetFrom(), s.GetFor()
	if from != int64(int32(from)) || length != int64(int32(length)) || s.GetEncoding() > math.MaxUint8 {
		return nil, fmt.Errorf("%w: %d characters from %d on in encoding %d", ErrMalformed, length, from, s.GetEncoding())
	}
	arg, err := decodeValue(s.GetArg(), depth+1)
	return &joincore.Substring{Arg: arg, From: int(from), For: int(length), Characters: joincore.Encoding(s.GetEncoding())}, err
}
