package joincore

import "strings"

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

// String returns the name that settings, statistics and EXPLAIN use.
func (a Algorithm) String() string {
	switch a {
	case NPJ:
		return "npj"
	case PHJUM:
		return "phj-um"
	case PHJOM:
		return "phj-om"
	case SMJUM:
		return "smj-um"
	case SMJOM:
		return "smj-om"
	}
	return "unknown"
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
