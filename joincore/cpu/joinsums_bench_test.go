package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/suite"
)

// BenchmarkJoinSums joins 10 M rows with those of a dense or a sparse key, and sums up a column of
// each side: what a query over kept columns computes.
func BenchmarkJoinSums(b *testing.B) {
	const n = 10_000_000
	for _, build := range []int{1000, 1_000_000} {
		for name, scale := range map[string]uint64{"dense": 1, "sparse": sparse} {
			random := rand.New(rand.NewPCG(1, 2))
			fact := suite.Int64Relation(n, 2, func(row, column int) uint64 {
				if column == 0 {
					return uint64(random.IntN(build)) * scale
				}
				return uint64(row % 1000)
			})
			dimension := suite.Int64Relation(build, 2, func(row, _ int) uint64 { return uint64(row) * scale })
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("build=%d/%s/workers=%d", build, name, workers), func(b *testing.B) {
					plan := &joincore.Plan{
						Inputs: []joincore.Input{{Columns: fact.Columns}, {Columns: dimension.Columns}},
						Root: &joincore.Aggregate{
							Child: &joincore.Join{
								Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
								Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
							},
							ID: 2,
							Functions: []joincore.Function{
								{Kind: joincore.Sum, Arg: joincore.ColumnRef{Column: 1}},
								{Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 1, Column: 1}},
							},
						},
					}
					benchGroups(b, plan, []*joincore.Relation{fact, dimension}, benchOptions(workers, joincore.NPJ))
				})
			}
		}
	}
}
