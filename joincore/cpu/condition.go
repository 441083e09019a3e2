package cpu

import (
	"cmp"
	"fmt"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// condition is a compiled predicate. As a value, it holds no vectors and all
// streams share it.
type condition interface {
	// eval writes the truth of each row of r to out.
	eval(st *stream, r *rows, out *truths) error
}

// condition compiles an expression, once for all streams. The expression is
// valid.
func (d *dev) condition(e joincore.Expr, parameters []joincore.Parameter) condition {
	d.lock.Lock()
	defer d.lock.Unlock()
	return compiled(d, expressionKeyOf(e, parameters), func() condition { return compile(e, parameters).condition })
}

// compile compiles an expression, and says whether it can fail. Conditions may be as deep as
// they are long, so it visits each part once.
func compile(e joincore.Expr, parameters []joincore.Parameter) term {
	switch e := e.(type) {
	case *joincore.And:
		return compileLogic(e.Args, parameters, true)
	case *joincore.Or:
		return compileLogic(e.Args, parameters, false)
	case *joincore.Not:
		arg := compile(e.Arg, parameters)
		if c, ok := arg.condition.(*inRanges); ok {
			return term{newInRanges(c.arg, c.set.complement()), arg.fails}
		}
		return term{&not{arg: arg.condition}, arg.fails}
	}
	return term{compileLeaf(e, parameters), joincore.CanFail(e)}
}

// compileLeaf compiles a condition on values.
func compileLeaf(e joincore.Expr, parameters []joincore.Parameter) condition {
	switch e := e.(type) {
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

// compileLogic compiles AND or OR. Arguments that compare one column become one, unless an
// argument can fail: then the order of the query decides which rows it is evaluated for.
func compileLogic(args []joincore.Expr, parameters []joincore.Parameter, all bool) term {
	terms := compileAll(args, parameters)
	if slices.ContainsFunc(terms, func(t term) bool { return t.fails }) {
		return term{newLogic(terms, all), true}
	}
	if terms = merged(terms, all); len(terms) == 1 {
		return terms[0]
	}
	return term{newLogic(terms, all), false}
}

func compileAll(args []joincore.Expr, parameters []joincore.Parameter) []term {
	out := make([]term, len(args))
	for i, a := range args {
		out[i] = compile(a, parameters)
	}
	return out
}

type not struct{ arg condition }

func (c *not) eval(st *stream, r *rows, out *truths) error {
	if err := c.arg.eval(st, r, out); err != nil {
		return err
	}
	out.not()
	return nil
}

// isNullColumn reads no more than the validity of a column of any type.
type isNullColumn struct{ column joincore.ColumnRef }

func (c *isNullColumn) eval(st *stream, r *rows, out *truths) error {
	col, s := r.locate(c.column, st.dev.inputs)
	out.set(isTrue)
	if col != nil {
		out.unknownWhereMissing(st, col, s, r.n)
		for w := range out.yes { // what is not known is NULL
			out.yes[w] = ^out.yes[w]
		}
	}
	out.known()
	return nil
}

type isNull struct{ arg value }

func (c *isNull) eval(st *stream, r *rows, out *truths) error {
	v := st.takeVector()
	defer st.drop(1, 0, 0)
	if err := c.arg.eval(st, r, v); err != nil {
		return err
	}
	out.set(isFalse)
	if v.nullable {
		packBits(out.yes, v.nulls[:v.n])
		out.known()
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
	t := st.takeTruth()
	defer st.drop(0, 1, 0)
	if err := f.cond.eval(st, in, t); err != nil {
		return nil, device.Known(int64(0)), err
	}
	m := countBits(t.yes, in.n)
	if m == in.n {
		return in, device.Known(int64(m)), nil
	}
	f.out.takeMask(st.sel, in, t.yes, m)
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
	case *inRanges:
		if inPlace(c) {
			return costWord
		}
	case *textCondition:
		return costText
	}
	return costValue
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

func (c *logic) eval(st *stream, r *rows, out *truths) error {
	if len(c.args) == 0 {
		out.set(isFalse)
		if c.all {
			out.set(isTrue)
		}
		return nil
	}
	if err := c.args[0].eval(st, r, out); err != nil {
		return err
	}
	return c.rest(st, r, out, c.args[1:])
}

// undecided returns how many of n rows further arguments can change.
func (c *logic) undecided(t *truths, n int) int {
	if c.all {
		return countBits(t.maybe, n)
	}
	return n - countBits(t.yes, n)
}

// worthwhile is the least number of rows of which a part is taken only to
// save the evaluation of the others.
const worthwhile = 64

// inPlace reports whether a condition compares columns as they are stored. It costs less
// for rows next to each other than to leave most of them out.
func inPlace(c condition) bool {
	isColumn := func(v value) bool {
		_, ok := v.(*columnValue)
		return ok
	}
	switch c := c.(type) {
	case *inRanges:
		return isColumn(c.arg)
	case *compare:
		return isColumn(c.left) && isColumn(c.right)
	}
	return false
}

// rest evaluates the arguments that are left, of which out has the truth
// before them.
func (c *logic) rest(st *stream, r *rows, out *truths, args []term) error {
	for i, a := range args {
		n := c.undecided(out, r.n)
		switch {
		case n == 0:
			return nil
		case n < r.n && a.fails, n <= r.n*3/4 && r.n >= worthwhile && (n <= r.n/16 || !inPlace(a.condition)):
			return c.narrow(st, r, out, args[i:])
		}
		t := st.takeTruth()
		err := a.eval(st, r, t)
		if c.all {
			out.and(t)
		} else {
			out.or(t)
		}
		st.drop(0, 1, 0)
		if err != nil {
			return err
		}
	}
	return nil
}

// narrow evaluates arguments for the rows that are not decided.
func (c *logic) narrow(st *stream, r *rows, out *truths, args []term) error {
	t := st.takeTruth()
	defer st.drop(0, 1, 1)
	open := out.maybe
	if !c.all {
		open = t.yes
		for w, yes := range out.yes {
			open[w] = ^yes
		}
	}
	s := st.takeSubset(r, open)
	switch {
	case !slices.Equal(out.yes, out.maybe):
		t.pick(out, s.sel)
	case c.all:
		t.set(isTrue)
	default:
		t.set(isFalse)
	}
	if err := c.rest(st, s.rows, t, args); err != nil {
		return err
	}
	if c.all { // what is decided is false
		out.set(isFalse)
	} else { // or true
		out.known()
	}
	out.put(t, s.sel)
	return nil
}
