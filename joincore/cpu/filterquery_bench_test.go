package cpu_test

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/suite"
)

// BenchmarkFilterQuery6 sums products of the rows that pass five comparisons of three
// columns, 2 % of all, as TPC-H's query 6 does.
func BenchmarkFilterQuery6(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	below := []int{2557, 11, 50, 10_000_000}
	relation := suite.Int64Relation(4<<20, 4, func(_, c int) uint64 { return uint64(random.IntN(below[c])) })
	column := func(i int) joincore.Value { return joincore.ColumnRef{Column: i} }
	is := func(op joincore.CompareOp, c, x int) joincore.Expr {
		return &joincore.Compare{Op: op, Left: column(c), Right: joincore.Int(x)}
	}
	decimal := func(i int) joincore.Value { return joincore.Decimal{Column: joincore.ColumnRef{Column: i}} }
	benchAggregation(b, relation, &joincore.Aggregate{
		ID: 1,
		Child: &joincore.Filter{Child: &joincore.Scan{}, Predicate: &joincore.And{Args: []joincore.Expr{
			is(joincore.GreaterEqual, 0, 731), is(joincore.Less, 0, 1096),
			is(joincore.GreaterEqual, 1, 5), is(joincore.LessEqual, 1, 7), is(joincore.Less, 2, 24),
		}}},
		Functions: []joincore.Function{{Kind: joincore.Sum, Arg: &joincore.Arithmetic{Op: joincore.Multiply, Width: 16, Left: decimal(3), Right: decimal(1)}}},
	}, 1)
}
