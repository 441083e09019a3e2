package exec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

// TestSparseKeys: joins of few keys of a wide range, of which tables have a bit each, return the
// oracle's rows: all kinds, either side built, with NULLs, duplicates and keys outside of the range.
func TestSparseKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	kinds := []joincore.Kind{joincore.Inner, joincore.Left, joincore.Right, joincore.Full, joincore.Semi, joincore.Anti}
	for round := range 48 {
		kind, buildLeft, residual := kinds[round%6], r.IntN(2) == 0, r.IntN(3) == 0
		few, many := r.IntN(60), 3000+r.IntN(3000)
		low, span := []int64{0, -5000, 1 << 40, -1 << 63, 1<<63 - 9000}[r.IntN(5)], int64(900+r.IntN(6000))
		share := r.Float64() // of the probing rows that have a key of the other side
		var built []uint64
		small := sparse(r, few, func(int) uint64 {
			if k := len(built); k > 0 && r.IntN(4) == 0 {
				return built[r.IntN(k)]
			}
			built = append(built, uint64(low+r.Int64N(span)))
			return built[len(built)-1]
		})
		large := sparse(r, many, func(int) uint64 {
			if len(built) > 0 && r.Float64() < share {
				return built[r.IntN(len(built))]
			}
			return uint64(low-500) + r.Uint64N(uint64(span)+1000)
		})
		inputs := []*joincore.Relation{small, large}
		if !buildLeft {
			inputs = []*joincore.Relation{large, small}
		}
		plan := suite.PairPlan(inputs[0], inputs[1])
		join := plan.Root.(*joincore.Join)
		join.Kind = kind
		if kind == joincore.Semi || kind == joincore.Anti {
			plan.Output = []joincore.ColumnRef{{}, {Column: 1}}
		}
		if residual {
			join.Residual = &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Column: 1}, Right: joincore.ColumnRef{Input: 1, Column: 1}}
		}
		opt := exec.Options{
			Decide: func(int, costmodel.Decision) costmodel.Decision {
				return costmodel.Decision{Algorithm: joincore.NPJ, BuildLeft: buildLeft}
			},
			Device: device.Options{Streams: []int{1, 2, 16}[round%3], ChunkRows: []int{64, 1000, 4096}[r.IntN(3)]},
		}
		name := fmt.Sprintf("round %d: %v, %d and %d rows, build left %v", round, kind, few, many, buildLeft)
		suite.Check(t, name, cpu.New(), plan, inputs, 500, opt)
	}
}

// sparse returns a relation of a key, which is NULL in some rows, and a number.
func sparse(r *rand.Rand, rows int, key func(row int) uint64) *joincore.Relation {
	rel := suite.Int64Relation(rows, 2, func(row, column int) uint64 {
		if column == 0 {
			return key(row)
		}
		return uint64(r.IntN(100))
	})
	for _, s := range rel.Segments {
		valid := make([]byte, (s.Rows+7)/8)
		for i := range valid {
			valid[i] = byte(r.Int() | r.Int() | r.Int())
		}
		s.Columns[0].Validity = valid
	}
	return rel
}
