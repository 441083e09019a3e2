package rowid

import "math"

// sample is what the launches so far have shown of the number of groups.
type sample struct {
	rows   int64   // added
	groups int64   // found
	first  int64   // of them in the first launch
	passed float64 // fraction of the rows that have a group: at least the groups of the first rows
}

// add notes a launch: its rows and the groups that there are after it.
func (s *sample) add(rows, groups int64) {
	if s.rows == 0 && rows > 0 {
		s.first, s.passed = groups, float64(groups)/float64(rows)
	}
	s.rows += rows
	s.groups = groups
}

// distinct returns the number of groups from which rows are drawn, as if all were as
// frequent. It is unknown if as many rows as those that have passed, whose number has
// an error, might each have made one.
func (s *sample) distinct() (groups float64, known bool) {
	rows, found := s.passed*float64(s.rows), float64(s.groups)
	if found >= rows*(1-2/math.Sqrt(float64(max(s.first, 1)))) && found > 100 {
		return 0, false
	}
	low, high := found, 200*rows // found = n * (1 - exp(-rows/n)) grows with n
	for range 60 {
		n := (low + high) / 2
		if n*-math.Expm1(-rows/n) < found {
			low = n
		} else {
			high = n
		}
	}
	return high, true
}

// expected returns how many groups there will be after further rows, with a margin for
// groups that are less frequent than others.
func (s *sample) expected(further int64) int64 {
	rows := s.passed * float64(s.rows+further)
	if s.rows == 0 {
		return further
	}
	n, known := s.distinct()
	if !known {
		return int64(rows) + 1
	}
	return int64(min(1.25*n*-math.Expm1(-rows/n), rows)) + 1
}
