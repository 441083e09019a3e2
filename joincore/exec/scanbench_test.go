package exec_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/testsupport/suite"
)

// BenchmarkScan returns four columns of 10 M rows: all of them, or one in a hundred.
func BenchmarkScan(b *testing.B) {
	rows := cached("scan", func() *joincore.Relation {
		return suite.Int64Relation(benchRows, 4, func(row, c int) uint64 { return uint64(row%100 + c) })
	})
	plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: rows.Columns}}, Root: &joincore.Scan{}}
	for c := range 4 {
		plan.Output = append(plan.Output, joincore.ColumnRef{Column: c})
	}
	b.Run("all", func(b *testing.B) { benchPlan(b, plan, []*joincore.Relation{rows}, 0, benchRows) })
	some := *plan
	some.Root = &joincore.Filter{Child: plan.Root, Predicate: &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{}, Right: joincore.Int(1)}}
	b.Run("one in a hundred", func(b *testing.B) { benchPlan(b, &some, []*joincore.Relation{rows}, 0, benchRows/100) })
}
