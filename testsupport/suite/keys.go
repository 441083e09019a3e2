package suite

import (
	"math/rand/v2"

	"gpujoin/joincore"
)

// keyType is a type of join keys: the columns of each side, and their pairs.
type keyType struct {
	name        string
	left, right []joincore.Column
	class       []joincore.KeyClass
}

func fixed(width int) joincore.Column {
	return joincore.Column{Kind: joincore.Fixed, Width: width, Align: min(width, 8)}
}

var varlena = joincore.Column{Kind: joincore.Varlena, Align: 4}

func keysOf(name string, class joincore.KeyClass, left, right joincore.Column) keyType {
	return keyType{name, []joincore.Column{left}, []joincore.Column{right}, []joincore.KeyClass{class}}
}

func both(a, b keyType) keyType {
	return keyType{a.name + "+" + b.name, append(a.left, b.left...), append(a.right, b.right...), append(a.class, b.class...)}
}

var keyTypes = []keyType{
	keysOf("int8", joincore.KeyInt, fixed(8), fixed(8)),
	keysOf("int4", joincore.KeyInt, fixed(4), fixed(4)),
	keysOf("int2=int8", joincore.KeyInt, fixed(2), fixed(8)),
	keysOf("int4=int1", joincore.KeyInt, fixed(4), fixed(1)),
	keysOf("bytes2", joincore.KeyBytes, fixed(2), fixed(2)),
	keysOf("bytes16", joincore.KeyBytes, fixed(16), fixed(16)),
	keysOf("bytes64", joincore.KeyBytes, fixed(64), fixed(64)),
	keysOf("varlena", joincore.KeyVarlena, varlena, varlena),
	both(keysOf("int4", joincore.KeyInt, fixed(4), fixed(2)), keysOf("int4", joincore.KeyInt, fixed(4), fixed(4))),
	both(keysOf("int8", joincore.KeyInt, fixed(8), fixed(8)), keysOf("int2", joincore.KeyInt, fixed(2), fixed(4))),
	both(keysOf("int4", joincore.KeyInt, fixed(4), fixed(4)), keysOf("varlena", joincore.KeyVarlena, varlena, varlena)),
	both(both(keysOf("int1", joincore.KeyInt, fixed(1), fixed(1)), keysOf("int2", joincore.KeyInt, fixed(2), fixed(2))), keysOf("int4", joincore.KeyInt, fixed(4), fixed(4))),
	{name: "none"},
}

// int4AndVarlena is the key type with the most ways to fail.
var int4AndVarlena = keyTypes[10]

// distribution determines how key values repeat.
type distribution struct {
	name  string
	nulls float64
	pick  func(r *rand.Rand, row, rows int) int // of a domain of small integers
}

var distributions = []distribution{
	{"unique", 0, func(_ *rand.Rand, row, _ int) int { return row }},
	{"unique-nulls", 0.2, func(_ *rand.Rand, row, _ int) int { return row }},
	{"duplicates", 0, func(r *rand.Rand, _, rows int) int { return r.IntN(rows/3 + 1) }},
	{"duplicates-nulls", 0.3, func(r *rand.Rand, _, rows int) int { return r.IntN(rows/3 + 1) }},
	{"skew", 0.05, func(r *rand.Rand, row, _ int) int {
		if row%2 == 0 {
			return 0
		}
		return r.IntN(50)
	}},
	{"one", 0, func(*rand.Rand, int, int) int { return 7 }},
	{"all-null", 1, func(*rand.Rand, int, int) int { return 0 }},
	{"extreme", 0.1, func(r *rand.Rand, _, _ int) int { return -r.IntN(3) * (1 << 62) }},
}

var (
	unique          = distributions[0]
	duplicatesNulls = distributions[3]
	oneKey          = distributions[5]
)
