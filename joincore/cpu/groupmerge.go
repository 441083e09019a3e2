package cpu

import (
	"gpujoin/joincore"
)

// merge adds the state of groups of another table: that of group from[i] to
// that of group to[i].
func (t *groupTable) merge(o *groupTable, from, to []uint32) error {
	p := t.plan
	for c := p.rows; c < p.skipped+len(p.arguments); c++ {
		a, b := t.c64[c], o.c64[c]
		for i, g := range to {
			a[g] += b[from[i]]
		}
	}
	for i := range p.functions {
		if err := t.mergeFunction(&p.functions[i], o, from, to); err != nil {
			return err
		}
	}
	return nil
}

func (t *groupTable) mergeFunction(f *function, o *groupTable, from, to []uint32) error {
	if f.bytes && f.kind != joincore.Count {
		for i, g := range to {
			if o.c64[f.state][from[i]] != 0 {
				if err := t.offer(f, g, o.kept(f, int(from[i]))); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if f.repeated {
		return nil
	}
	a, b := t.c64[f.state:f.state+f.columns()], o.c64[f.state:f.state+f.columns()]
	for i, g := range to {
		h := from[i]
		switch f.kind {
		case joincore.Sum:
			if !f.wide {
				mergeSum(a[0], a[1], g, b[0][h], b[1][h])
				continue
			}
			var ok bool
			if a[0][g], a[1][g], ok = add128(a[0][g], a[1][g], b[0][h], b[1][h]); !ok {
				return errSum
			}
		case joincore.SumOfSquares:
			if !addSquare(a, g, &square{b[0][h], b[1][h], b[2][h], b[3][h]}) {
				return errSquares
			}
		case joincore.SumFloat8, joincore.SumFloat4, joincore.AverageFloat:
			mergeFloats(a, b, g, h)
		case joincore.BoolAnd, joincore.BoolOr, joincore.Min, joincore.Max:
			f.mergeExtreme(a, b, g, h)
		}
	}
	return nil
}

// mergeSum adds a sum as addAll has it.
func mergeSum(low, high []uint64, g uint32, bLow, bHigh uint64) {
	a := low[g]
	s := a + bLow
	low[g] = s
	high[g] += bHigh
	if int64((a^s)&(bLow^s)) < 0 {
		high[g] += carryOf(a)
	}
}

func (f *function) mergeExtreme(a, b [][]uint64, g, h uint32) {
	most := f.kind == joincore.Max || f.kind == joincore.BoolOr
	if f.columns() == 2 {
		if less128(b[0][h], b[1][h], a[0][g], a[1][g]) != most {
			a[0][g], a[1][g] = b[0][h], b[1][h]
		}
		return
	}
	x, y := int64(a[0][g]), int64(b[0][h])
	if most {
		a[0][g] = uint64(max(x, y))
	} else {
		a[0][g] = uint64(min(x, y))
	}
}
