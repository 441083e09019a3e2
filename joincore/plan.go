package joincore

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

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

// KeyClass says when two key values are equal. NULL equals nothing.
type KeyClass uint8

const (
	// KeyInt compares signed integers by value, across widths 1, 2, 4 and 8.
	KeyInt KeyClass = iota + 1
	// KeyBytes compares Fixed columns of one width by their bytes.
	KeyBytes
	// KeyVarlena compares Varlena values of one alignment by their bytes, header and padding
	// included.
	KeyVarlena
)

// Compares reports whether the class compares values of two columns.
func (k KeyClass) Compares(a, b Column) bool {
	switch k {
	case KeyInt:
		return a.IsInt() && b.IsInt()
	case KeyBytes:
		return a.Kind == Fixed && b.Kind == Fixed && a.Width == b.Width
	case KeyVarlena:
		return a.Kind == Varlena && b.Kind == Varlena && a.Align == b.Align
	}
	return false
}

// KeyPair is one equality of a join.
type KeyPair struct {
	Left  ColumnRef // below the join's left child
	Right ColumnRef // below the join's right child
	Class KeyClass
}

// HashWord mixes one more word into a hash. Steps that divide the same rows one after the
// other take different bits of it.
func HashWord(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^w^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	return hi ^ lo ^ h>>17
}

// HashBytes mixes a value of any length into a hash.
func HashBytes(h uint64, b []byte) uint64 {
	n := len(b)
	for ; len(b) >= 8; b = b[8:] {
		h = HashWord(h, binary.LittleEndian.Uint64(b))
	}
	var last uint64
	for i, x := range b {
		last |= uint64(x) << (8 * i)
	}
	return HashWord(HashWord(h, last), uint64(n))
}

// Algorithm is a join algorithm. UM and OM are the two ways to materialise
// payload: gather it from the untransformed relations by row id (UM, GFUR), or
// move it with the key and gather it from the transformed relations (OM, GFTR).
type Algorithm uint8

const (
	NPJ   Algorithm = iota + 1 // no partitioning, one shared hash table
	PHJUM                      // partitioned hash join, GFUR
	PHJOM                      // partitioned hash join, GFTR
	SMJUM                      // sort-merge join, GFUR
	SMJOM                      // sort-merge join, GFTR
)

// OM reports whether the algorithm moves payload with the key.
func (a Algorithm) OM() bool { return a == PHJOM || a == SMJOM }

// UM returns the variant of the algorithm that does not move payload.
func (a Algorithm) UM() Algorithm {
	switch a {
	case PHJOM:
		return PHJUM
	case SMJOM:
		return SMJUM
	}
	return a
}

// Algorithms are all of them.
var Algorithms = [...]Algorithm{NPJ, PHJUM, PHJOM, SMJUM, SMJOM}

var algorithmNames = [...]string{"unknown", NPJ: "npj", PHJUM: "phj-um", PHJOM: "phj-om", SMJUM: "smj-um", SMJOM: "smj-om"}

// String returns the name that settings, statistics and EXPLAIN use.
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return algorithmNames[0]
}

// ParseAlgorithm returns the algorithm whose String is name.
func ParseAlgorithm(name string) (a Algorithm, ok bool) {
	for _, a := range Algorithms {
		if a.String() == name {
			return a, true
		}
	}
	return 0, false
}

// Executed reports whether JoinStats.Algorithm says that a join was executed by
// a. Providers append what else they did, such as "npj/array" (an array instead
// of a hash table) or "phj-om+bloom". "phj-om/um", where one side is not
// materialised as a says, is none of a.
func (a Algorithm) Executed(reported string) bool {
	name, _, _ := strings.Cut(reported, "+")
	return name == a.String() || a == NPJ && name == "npj/array"
}
