package oracle

import (
	"fmt"
	"math/big"

	"gpujoin/joincore"
)

// group is a row of a derived input.
type group []stored

// stored is a value as a column holds it.
type stored struct {
	bytes []byte
	null  bool
}

// aggregate groups the child's rows by their keys, in the order in which they
// are met, and returns a tuple for each group.
func (o *oracle) aggregate(a *joincore.Aggregate) ([]tuple, error) {
	child, err := o.rows(a.Child)
	if err != nil {
		return nil, err
	}
	columns := o.schema[a.ID]
	number := map[string]int{}
	var members [][]tuple
	var keys []group
	if len(a.Keys) == 0 {
		members, keys = make([][]tuple, 1), make([]group, 1)
	}
	for _, t := range child {
		var key group
		var id []byte
		for i, k := range a.Keys {
			v, err := o.stored(k, columns[i], t)
			if err != nil {
				return nil, err
			}
			key = append(key, v)
			id = AppendValue(id, v.bytes, v.null)
		}
		n, ok := number[string(id)]
		if !ok && len(a.Keys) > 0 {
			n = len(members)
			number[string(id)] = n
			members, keys = append(members, nil), append(keys, key)
		}
		members[n] = append(members[n], t)
	}
	o.derived[a.ID] = []group{}
	var out []tuple
	for n, rows := range members {
		row := keys[n]
		for _, c := range a.Carry {
			v := stored{null: true}
			if len(rows) > 0 {
				v.bytes, v.null = o.raw(rows[0], c)
			}
			row = append(row, v)
		}
		for i := range a.Functions {
			f := &a.Functions[i]
			v, err := o.function(f, columns[len(row)], rows)
			if err != nil {
				return nil, fmt.Errorf("function %d: %w", i, err)
			}
			row = append(row, v)
		}
		out = append(out, o.tuple(a.ID, n))
		o.derived[a.ID] = append(o.derived[a.ID], row)
	}
	return out, nil
}

// stored evaluates a value as it stands in a column of a derived input.
func (o *oracle) stored(v joincore.Value, c joincore.Column, t tuple) (stored, error) {
	if ref, ok := v.(joincore.ColumnRef); ok {
		b, null := o.raw(t, ref)
		return stored{b, null}, nil
	}
	x, err := o.value(v, t)
	if err != nil || x.null {
		return stored{null: true}, err
	}
	return stored{bytes: x.encode(c)}, nil
}

// encode returns the value as a column holds it.
func (d value) encode(c joincore.Column) []byte {
	if c.Kind == joincore.Fixed {
		return fixedBytes(d.n, c.Width)
	}
	b := make([]byte, joincore.TextSize(len(d.bytes), c.Align))
	joincore.PutText(b, d.bytes)
	return b
}

// fixedBytes returns a number in two's complement, little-endian. It has to fit.
func fixedBytes(x *big.Int, width int) []byte {
	n := new(big.Int).Set(x)
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
	}
	out := make([]byte, width)
	n.FillBytes(out)
	for i := range width / 2 {
		out[i], out[width-1-i] = out[width-1-i], out[i]
	}
	return out
}

// function computes an aggregate function of a group's rows.
func (o *oracle) function(f *joincore.Function, c joincore.Column, rows []tuple) (stored, error) {
	var values []value
	seen := map[string]bool{}
	for _, t := range rows {
		if f.Filter != nil {
			passes, err := o.eval(f.Filter, t)
			if err != nil {
				return stored{}, err
			}
			if passes != isTrue {
				continue
			}
		}
		if f.Arg == nil {
			values = append(values, value{n: big.NewInt(1)})
			continue
		}
		v, err := o.value(f.Arg, t)
		if err != nil {
			return stored{}, err
		}
		if v.null || f.Distinct && seen[v.String()] {
			continue
		}
		seen[v.String()] = true
		values = append(values, v)
	}
	if f.Kind == joincore.Count {
		return stored{bytes: fixedBytes(big.NewInt(int64(len(values))), 8)}, nil
	}
	if len(values) == 0 {
		return stored{null: true}, nil
	}
	result := values[0]
	switch f.Kind {
	case joincore.Sum, joincore.SumOfSquares:
		sum := new(big.Int)
		for _, v := range values {
			if f.Kind == joincore.Sum {
				sum.Add(sum, v.n)
			} else {
				sum.Add(sum, new(big.Int).Mul(v.n, v.n))
			}
		}
		if f.Kind == joincore.Sum && !fits(sum, 127) || sum.BitLen() > 256 {
			return stored{}, joincore.ErrArithmetic
		}
		result = value{n: sum}
	case joincore.SumFloat8, joincore.SumFloat4, joincore.AverageFloat:
		var err error
		if result.n, err = floatSum(f.Kind, values); err != nil {
			return stored{}, err
		}
	case joincore.Min, joincore.Max:
		for _, v := range values {
			if by := order(v, result); by < 0 == (f.Kind == joincore.Min) && by != 0 {
				result = v
			}
		}
	case joincore.BoolAnd, joincore.BoolOr:
		all, any := true, false
		for _, v := range values {
			all, any = all && v.n.Sign() != 0, any || v.n.Sign() != 0
		}
		truth := int64(0)
		if f.Kind == joincore.BoolAnd && all || f.Kind == joincore.BoolOr && any {
			truth = 1
		}
		result = value{n: big.NewInt(truth)}
	}
	return stored{bytes: result.encode(c)}, nil
}

// fits reports whether a signed number has at most bits bits, without its sign.
func fits(x *big.Int, bits int) bool {
	if x.Sign() < 0 {
		x = new(big.Int).Not(x)
	}
	return x.BitLen() <= bits
}

func (d value) String() string {
	if d.n != nil {
		return d.n.String()
	}
	return string(d.bytes)
}
