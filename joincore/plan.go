package joincore

// Kind is the kind of a join. The names follow SQL with the join's left and
// right sides; Semi and Anti return left rows only.
type Kind uint8

const (
	Inner Kind = iota + 1
	Left
	Right
	Full
	Semi
	Anti
)

// ColumnRef names a column of a base input of the plan.
type ColumnRef struct {
	Input  int
	Column int
}

// Node is an operator of the plan tree: *Scan, *Filter, *Join or *Aggregate.
type Node interface{ node() }

// Scan reads a whole base input. Every input occurs in exactly one Scan.
type Scan struct{ Input int }

// Filter passes the rows of Child for which Predicate is true.
type Filter struct {
	Child     Node
	Predicate Expr
}

// Join joins Left and Right on all of Keys and, if not nil, Residual.
type Join struct {
	Kind        Kind
	Left, Right Node
	Keys        []KeyPair
	Residual    Expr    // nil: none
	Rows        float64 // the planner's estimate of the result; a hint, never a bound
}

func (*Scan) node()   {}
func (*Filter) node() {}
func (*Join) node()   {}

// Plan is a tree of operators over base inputs, and the columns it returns.
type Plan struct {
	Inputs     []Input
	Root       Node
	Output     []ColumnRef
	Parameters []Parameter
	// Algorithm is to execute every join; 0: chosen for each join. A join that
	// it cannot execute is executed by another one, and JoinStats.Reason says
	// why.
	Algorithm Algorithm
}

// Input describes a base input before its data arrives.
type Input struct {
	Columns []Column
	Rows    float64 // the planner's estimate; a hint, never a bound
	Derived bool    // an aggregate's result: columns of width 16 are integers
}

// Parameter is a value known only at run time: a signed integer or NULL.
type Parameter struct {
	Int  int64
	Null bool
}
