package joincore

// CanFailLate says whether a plan whose root is n may end with ErrArithmetic
// after it has returned rows. An aggregate evaluates all that is below it before
// its first row.
func CanFailLate(n Node) bool {
	switch n := n.(type) {
	case *Filter:
		return ExprCanFail(n.Predicate) || CanFailLate(n.Child)
	case *Join:
		return ExprCanFail(n.Residual) || CanFailLate(n.Left) || CanFailLate(n.Right)
	}
	return false
}

// ValueCanFail says whether evaluating a value may end with ErrArithmetic; nil
// cannot.
func ValueCanFail(v Value) bool {
	switch v := v.(type) {
	case Decimal, *Arithmetic, *DatePart:
		return true
	case *Case:
		for _, w := range v.Whens {
			if ExprCanFail(w.Condition) || ValueCanFail(w.Then) {
				return true
			}
		}
		return ValueCanFail(v.Else)
	case *Coalesce:
		for _, a := range v.Args {
			if ValueCanFail(a) {
				return true
			}
		}
	case *Substring:
		return ValueCanFail(v.Arg)
	case *Truth:
		return ExprCanFail(v.Arg)
	}
	return false
}

// ExprCanFail says whether evaluating a condition may end with ErrArithmetic;
// nil cannot.
func ExprCanFail(e Expr) bool {
	switch e := e.(type) {
	case *And:
		return anyCanFail(e.Args)
	case *Or:
		return anyCanFail(e.Args)
	case *Not:
		return ExprCanFail(e.Arg)
	case *Compare:
		return ValueCanFail(e.Left) || ValueCanFail(e.Right)
	case *IsNull:
		return ValueCanFail(e.Arg)
	case *In:
		return ValueCanFail(e.Arg)
	case *Like:
		return ValueCanFail(e.Arg)
	}
	return false
}

func anyCanFail(args []Expr) bool {
	for _, a := range args {
		if ExprCanFail(a) {
			return true
		}
	}
	return false
}
