package exec

import "gpujoin/joincore"

// registers are the vectors as long as chunks that evaluating an expression takes on a
// Chunked device: values, truths, and subsets of the rows.
type registers struct{ values, truths, subsets int }

func (r registers) and(o registers) registers {
	return registers{r.values + o.values, r.truths + o.truths, r.subsets + o.subsets}
}

func (r registers) or(o registers) registers {
	return registers{max(r.values, o.values), max(r.truths, o.truths), max(r.subsets, o.subsets)}
}

// Bytes a row of a chunk. A value may have 128 bits and be NULL, or be bytes.
const (
	valueWidth  = 8 + 8 + 24 + 1
	truthWidth  = 1
	subsetWidth = 4 // and positionWidth for each input
)

// width returns the bytes a row of a chunk whose rows come from a number of inputs.
func (r registers) width(inputs int) int {
	return r.values*valueWidth + r.truths*truthWidth + r.subsets*(subsetWidth+inputs*positionWidth)
}

// ofValue returns the registers that a value takes besides the one that it is written to.
func ofValue(v joincore.Value) (r registers) {
	switch v := v.(type) {
	case *joincore.Arithmetic:
		return ofValue(v.Left).or(registers{values: 1}.and(ofValue(v.Right)))
	case *joincore.DatePart:
		return ofValue(v.Arg)
	case *joincore.Substring:
		return ofValue(v.Arg)
	case *joincore.Truth:
		r, _ := ofCondition(v.Arg)
		return registers{truths: 1}.and(r)
	case *joincore.Coalesce:
		for i, a := range v.Args {
			some := registers{}
			if i > 0 {
				some = registers{values: 1, subsets: 1}
			}
			r = r.or(some.and(ofValue(a)))
		}
	case *joincore.Case:
		var before registers // of the arms before
		for _, w := range v.Whens {
			before.truths++
			condition, _ := ofCondition(w.Condition)
			then := registers{values: 1, subsets: 1}.and(ofValue(w.Then))
			r = r.or(before.and(condition)).or(before.and(then))
			before.subsets += 2
		}
		r = r.or(before.and(registers{values: 1}).and(ofValue(v.Else)))
	}
	return r
}

// ofCondition returns the registers that a condition takes besides the one that it is
// written to, and how many nodes it has.
func ofCondition(e joincore.Expr) (r registers, nodes int) {
	switch e := e.(type) {
	case *joincore.And:
		return ofLogic(e.Args)
	case *joincore.Or:
		return ofLogic(e.Args)
	case *joincore.Not:
		r, nodes = ofCondition(e.Arg)
		return r, nodes + 1
	case *joincore.Compare:
		return registers{values: 1}.and(ofValue(e.Left)).or(registers{values: 2}.and(ofValue(e.Right))), 1
	case *joincore.IsNull:
		r = ofValue(e.Arg)
	case *joincore.In:
		r = ofValue(e.Arg)
	case *joincore.Like:
		r = ofValue(e.Arg)
	}
	return registers{values: 1}.and(r), 1
}

// maxNarrowings bounds how often rows are dropped from a chunk. After 15 steps that each
// drop a quarter, a chunk of 4096 rows has about 55 left; further steps do not pay.
const maxNarrowings = 15

// ofLogic is ofCondition of AND and OR. The argument that takes most truths goes first,
// and each further one finds a register taken. Rows that are decided may be left out
// after each argument. Where no argument can fail, a quarter is, at least.
func ofLogic(args []joincore.Expr) (r registers, nodes int) {
	most, second := 0, -1
	nodes = 1
	fails := false
	for i, a := range args {
		of, n := ofCondition(a)
		nodes += n
		switch {
		case i == 0:
			most = of.truths
		case of.truths > most:
			most, second = of.truths, most
		default:
			second = max(second, of.truths)
		}
		r = r.or(of)
		fails = fails || joincore.CanFail(a)
	}
	r.truths = max(most, second+1)
	narrower := max(len(args)-1, 0)
	if !fails {
		narrower = min(narrower, maxNarrowings)
	}
	return r.and(registers{truths: narrower, subsets: narrower}), nodes
}
