package joincore

// CanFailLate says whether a plan with this root may end with ErrArithmetic
// after it has returned rows. An aggregate evaluates all that is below it before
// its first row.
func CanFailLate(root Node) bool {
	for n := range Block(root) {
		switch n := n.(type) {
		case *Filter:
			if CanFail(n.Predicate) {
				return true
			}
		case *Join:
			if CanFail(n.Residual) {
				return true
			}
		}
	}
	return false
}

// CanFail says whether evaluating a condition or a value may end with ErrArithmetic;
// nil cannot.
func CanFail(term any) bool {
	for t := range Terms(term) {
		switch t.(type) {
		case Decimal, *Arithmetic, *DatePart:
			return true
		}
	}
	return false
}
