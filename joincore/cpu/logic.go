package cpu

import "slices"

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

// newLogic puts the argument that takes most registers first where they would
// be many, so that a condition of n comparisons never needs more than
// log2(n) + shallow (Sethi and Ullman, 1970). Arguments that can fail stay
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
	if deepest > 0 && !fails && registersOf(args[deepest].condition) >= shallow {
		first := args[deepest]
		c.args = slices.Insert(slices.Delete(slices.Clone(args), deepest, deepest+1), 0, first)
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
