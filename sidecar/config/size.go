package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are PostgreSQL's units, which are powers of 1024, and their IEC names.
var units = map[string]int64{
	"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// ParseSize parses a size with a unit, such as 4MB, 1.5 GB or 65536, and
// returns bytes. If of is not 0, s may also be a percentage of it.
func ParseSize(s string, of int64) (int64, error) {
	text := strings.TrimSpace(s)
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	unit := strings.ToLower(strings.TrimSpace(text[end:]))
	factor, ok := units[unit]
	if unit == "%" && of > 0 {
		factor, ok, n = of, true, n/100
	}
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit; use kB, MB, GB or TB", s)
	}
	n *= float64(factor)
	if n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return int64(n), nil
}
