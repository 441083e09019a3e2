package cpu

import (
	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

type filter struct {
	st   *stream
	cond condition
	out  *rows
}

func (st *stream) NewFilter(e joincore.Expr, parameters []joincore.Parameter) device.Filter {
	return &filter{st: st, cond: st.dev.condition(e, parameters), out: newRows(st.dev.chunk)}
}

// Apply returns the rows that pass. The error is ErrArithmetic where the
// condition has one.
func (f *filter) Apply(r device.Rows) (device.Rows, device.Count, error) {
	in, st := r.(*rows), f.st
	v := st.takeTruth(in.n)
	defer st.drop(0, 1, 0)
	if err := f.cond.eval(st, in, v); err != nil {
		return nil, device.Known(int64(0)), err
	}
	m := selectTruths(st.sel, v, 1<<isTrue)
	if m == in.n {
		return in, device.Known(int64(m)), nil
	}
	f.out.take(in, st.sel[:m], m)
	return f.out, device.Known(int64(m)), nil
}
