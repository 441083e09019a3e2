package cpu

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// SQL's truth values; AND is the least and OR the greatest of its arguments.
const (
	isFalse uint8 = iota
	isUnknown
	isTrue
)

// condition is a compiled predicate. As a value, it holds no vectors and all
// streams share it.
type condition interface {
	// eval writes the truth of each row of r to out.
	eval(st *stream, r *rows, out []uint8) error
}

// condition compiles an expression, once for all streams. The expression is
// valid.
func (d *dev) condition(e joincore.Expr, parameters []joincore.Parameter) condition {
	d.lock.Lock()
	defer d.lock.Unlock()
	return compiled(d, expressionKeyOf(e, parameters), func() condition { return compile(e, parameters) })
}

func compile(e joincore.Expr, parameters []joincore.Parameter) condition {
	switch e := e.(type) {
	case *joincore.And:
		return newLogic(compileAll(e.Args, parameters), true)
	case *joincore.Or:
		return newLogic(compileAll(e.Args, parameters), false)
	case *joincore.Not:
		return &not{arg: compile(e.Arg, parameters)}
	case *joincore.IsNull:
		if c, ok := e.Arg.(joincore.ColumnRef); ok {
			return &isNullColumn{column: c}
		}
		return &isNull{arg: compileValue(e.Arg, parameters)}
	case *joincore.Compare:
		return newCompare(e.Op, compileValue(e.Left, parameters), compileValue(e.Right, parameters))
	case *joincore.In:
		return newIn(e, compileValue(e.Arg, parameters))
	case *joincore.Like:
		return newLike(e, compileValue(e.Arg, parameters))
	}
	panic(fmt.Sprintf("condition %T", e))
}

func compileAll(args []joincore.Expr, parameters []joincore.Parameter) []term {
	out := make([]term, len(args))
	for i, a := range args {
		out[i] = term{compile(a, parameters), joincore.CanFail(a)}
	}
	return out
}

// setTruth writes the same truth to all rows.
func setTruth(out []uint8, t uint8) {
	for i := range out {
		out[i] = t
	}
}

// unknownWhereNull makes the rows unknown where v is NULL.
func unknownWhereNull(out []uint8, v *vector) {
	if !v.nullable {
		return
	}
	nulls := v.nulls[:len(out)]
	for i, null := range nulls {
		out[i] = out[i]&(null-1) | null
	}
}

type not struct{ arg condition }

func (c *not) eval(st *stream, r *rows, out []uint8) error {
	if err := c.arg.eval(st, r, out); err != nil {
		return err
	}
	for i, x := range out {
		out[i] = isTrue - x
	}
	return nil
}

// isNullColumn reads no more than the validity of a column of any type.
type isNullColumn struct{ column joincore.ColumnRef }

func (c *isNullColumn) eval(st *stream, r *rows, out []uint8) error {
	col, s := r.locate(c.column, st.dev.inputs)
	if col == nil {
		setTruth(out, isTrue)
		return nil
	}
	clear(out)
	if fetchNulls(out, col, s) {
		for i, x := range out {
			out[i] = x * isTrue
		}
	}
	return nil
}

type isNull struct{ arg value }

func (c *isNull) eval(st *stream, r *rows, out []uint8) error {
	v := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.arg.eval(st, r, v); err != nil {
		return err
	}
	clear(out)
	if v.nullable {
		for i, x := range v.nulls[:v.n] {
			out[i] = x * isTrue
		}
	}
	return nil
}

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

// logic is AND or OR of its arguments, from left to right. Rows that are
// decided are left out where it is worth it, and always where their evaluation
// could fail.
type logic struct {
	args []term
	all  bool // AND
	need int  // truth registers that eval takes
}

// term is an argument of AND or OR.
type term struct {
	condition
	fails bool // eval may return ErrArithmetic
}

// registersOf returns how many truth registers the evaluation of a condition takes.
func registersOf(c condition) int {
	switch c := c.(type) {
	case *logic:
		return c.need
	case *not:
		return registersOf(c.arg)
	}
	return 0
}

// shallow is a number of registers about which a condition need not care.
const shallow = 8

// costOf ranks conditions by the time that they take for a row.
func costOf(c condition) int {
	switch c := c.(type) {
	case *isNullColumn:
		return costWord
	case *not:
		return costOf(c.arg)
	case *logic:
		most := costWord
		for _, a := range c.args {
			most = max(most, costOf(a.condition))
		}
		return most + 1
	case *compare:
		switch {
		case isTextConstant(c.right):
			return costText
		case inPlace(c):
			return costWord
		}
		return costValue
	case *like:
		return costText
	case *in:
		if len(c.texts) > 0 {
			return costText
		}
	}
	return costValue
}

func isTextConstant(v value) bool {
	c, ok := v.(*constant)
	return ok && c.text
}

// Ranks of conditions.
const (
	costWord  = iota * 4 // words in a row are compared with a constant
	costValue            // values are computed or collected first
	costText             // bytes elsewhere are read
)

// newLogic puts the argument that takes most registers first where they would
// be many, so that a condition of n comparisons never needs more than
// log2(n) + shallow (Sethi and Ullman, 1970). Otherwise it puts cheap arguments
// before others, which then have fewer rows to decide. Arguments that can fail stay
// behind those that may decide their rows.
func newLogic(args []term, all bool) *logic {
	c := &logic{args: args, all: all}
	deepest, fails := 0, false
	for i, a := range args {
		fails = fails || a.fails
		if registersOf(a.condition) > registersOf(args[deepest].condition) {
			deepest = i
		}
	}
	switch {
	case fails || len(args) < 2:
	case registersOf(args[deepest].condition) >= shallow:
		first := args[deepest]
		c.args = slices.Insert(slices.Delete(slices.Clone(args), deepest, deepest+1), 0, first)
	default:
		c.args = slices.Clone(args)
		slices.SortStableFunc(c.args, func(a, b term) int { return cmp.Compare(costOf(a.condition), costOf(b.condition)) })
	}
	for i, a := range c.args {
		c.need = max(c.need, registersOf(a.condition)+min(i, 1))
	}
	return c
}

func (c *logic) eval(st *stream, r *rows, out []uint8) error {
	if len(c.args) == 0 {
		setTruth(out, isFalse)
		if c.all {
			setTruth(out, isTrue)
		}
		return nil
	}
	if err := c.args[0].eval(st, r, out); err != nil {
		return err
	}
	return c.rest(st, r, out, c.args[1:])
}

// undecided returns the truth values that further arguments can change, as
// takeSubset wants them.
func (c *logic) undecided() uint8 {
	if c.all {
		return 1<<isUnknown | 1<<isTrue
	}
	return 1<<isFalse | 1<<isUnknown
}

// worthwhile is the least number of rows of which a part is taken only to
// save the evaluation of the others.
const worthwhile = 64

// inPlace reports whether a condition compares a column with a constant. It costs less
// for rows next to each other than to leave some of them out.
func inPlace(a condition) bool {
	c, ok := a.(*compare)
	if !ok {
		return false
	}
	_, column := c.left.(*columnValue)
	_, constant := c.right.(*constant)
	return column && constant
}

// rest evaluates the arguments that are left, of which out has the truth
// before them.
func (c *logic) rest(st *stream, r *rows, out []uint8, args []term) error {
	for i, a := range args {
		n := countTruths(out, c.undecided())
		switch {
		case n == 0:
			return nil
		case n < len(out) && a.fails, n <= len(out)*3/4 && len(out) >= worthwhile && (n <= len(out)/4 || !inPlace(a.condition)):
			return c.narrow(st, r, out, args[i:])
		}
		v := st.takeTruth(len(out))
		err := a.eval(st, r, v)
		c.combine(out, v)
		st.drop(0, 1, 0)
		if err != nil {
			return err
		}
	}
	return nil
}

// narrow evaluates arguments for the rows that are not decided.
func (c *logic) narrow(st *stream, r *rows, out []uint8, args []term) error {
	s := st.takeSubset(r, out, c.undecided())
	t := st.takeTruth(len(s.sel))
	defer st.drop(0, 1, 1)
	for j, i := range s.sel {
		t[j] = out[i]
	}
	if err := c.rest(st, s.rows, t, args); err != nil {
		return err
	}
	for j, i := range s.sel {
		out[i] = t[j]
	}
	return nil
}

// combine combines the truths of out with those of v.
func (c *logic) combine(out, v []uint8) {
	if c.all {
		andTruths(out, v)
	} else {
		orTruths(out, v)
	}
}

// Truth values are a byte each. Eight of them are handled at a time, as a word.
const everyByte uint64 = 0x0101010101010101

// truthMasks choose truth values: those that are set in which, bit 0 for isFalse, bit 1
// for isUnknown, bit 2 for isTrue.
type truthMasks struct{ isFalse, isUnknown, isTrue uint64 }

func masksOf(which uint8) truthMasks {
	of := func(truth uint8) uint64 { return -uint64(which>>truth&1) & everyByte }
	return truthMasks{of(isFalse), of(isUnknown), of(isTrue)}
}

// chosen has a 1 in each byte of w with one of the truth values.
func (m truthMasks) chosen(w uint64) uint64 {
	return m.isFalse&^(w|w>>1) | m.isUnknown&w | m.isTrue&(w>>1)
}

// countTruths returns how many truth values are set in which.
func countTruths(truths []uint8, which uint8) int {
	n, masks := 0, masksOf(which)
	for ; len(truths) >= 8; truths = truths[8:] {
		n += bits.OnesCount64(masks.chosen(binary.LittleEndian.Uint64(truths)))
	}
	for _, x := range truths {
		n += int(which >> (x & 3) & 1)
	}
	return n
}

// selectTruths writes the numbers of the truth values that are set in which to sel,
// which is as long as truths at least, and returns their number.
func selectTruths(sel []uint32, truths []uint8, which uint8) int {
	// Few rows are found one by one. Among many, that would be mispredicted.
	const few = 8
	m, i := 0, 0
	if countTruths(truths, which) < len(truths)/few {
		masks := masksOf(which)
		for ; i+8 <= len(truths); i += 8 {
			for w := masks.chosen(binary.LittleEndian.Uint64(truths[i:])); w != 0; w &= w - 1 {
				sel[m] = uint32(i + bits.TrailingZeros64(w)/8)
				m++
			}
		}
	}
	for ; i < len(truths); i++ {
		sel[m] = uint32(i)
		m += int(which >> (truths[i] & 3) & 1)
	}
	return m
}

// andTruths makes each truth of out the lesser of its own and v's.
func andTruths(out, v []uint8) {
	v = v[:len(out)]
	i := 0
	for ; i+8 <= len(out); i += 8 {
		a, b := binary.LittleEndian.Uint64(out[i:]), binary.LittleEndian.Uint64(v[i:])
		both := a & b & (everyByte << 1) // true
		binary.LittleEndian.PutUint64(out[i:], both|(a|a>>1)&(b|b>>1)&^(both>>1)&everyByte)
	}
	for ; i < len(out); i++ {
		out[i] = min(out[i], v[i])
	}
}

// orTruths makes each truth of out the greater of its own and v's.
func orTruths(out, v []uint8) {
	v = v[:len(out)]
	i := 0
	for ; i+8 <= len(out); i += 8 {
		either := binary.LittleEndian.Uint64(out[i:]) | binary.LittleEndian.Uint64(v[i:])
		one := either & (everyByte << 1) // true
		binary.LittleEndian.PutUint64(out[i:], one|either&^(one>>1)&everyByte)
	}
	for ; i < len(out); i++ {
		out[i] = max(out[i], v[i])
	}
}
