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
func ValueCanFail(v Value) bool { return canFail(v) }

// ExprCanFail says whether evaluating a condition may end with ErrArithmetic;
// nil cannot.
func ExprCanFail(e Expr) bool { return canFail(e) }

func canFail(term any) bool {
	for t := range Terms(term) {
		switch t.(type) {
		case Decimal, *Arithmetic, *DatePart:
			return true
		}
	}
	return false
}
