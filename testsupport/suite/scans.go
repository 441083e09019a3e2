package suite

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// Scans checks plans without a join or an aggregate: they return the rows of an input, or those that
// pass a filter.
func Scans(t *testing.T, s Subject) {
	columns := []joincore.Column{fixed(8), fixed(4), fixed(16), varlena, {Kind: joincore.Varlena, Align: 8}}
	ref := func(c int) joincore.ColumnRef { return joincore.ColumnRef{Column: c} }
	filters := map[string]joincore.Expr{
		"all":        nil,
		"a few":      &joincore.Compare{Op: joincore.Less, Left: ref(0), Right: joincore.ParameterIndex(0)},
		"no NULLs":   &joincore.Not{Arg: &joincore.IsNull{Arg: ref(3)}},
		"NULLs":      &joincore.Or{Args: []joincore.Expr{&joincore.IsNull{Arg: ref(1)}, &joincore.IsNull{Arg: ref(4)}}},
		"NULL":       &joincore.Compare{Op: joincore.Equal, Left: ref(1), Right: joincore.Null{Width: 4}},
		"a NULL not": &joincore.Not{Arg: &joincore.In{Arg: ref(0), Ints: []int64{1, 2}, Null: true}},
	}
	for name, filter := range filters {
		for _, rows := range []int{0, 1, 65, 3000} {
			for seed := range uint64(2) {
				r := rand.New(rand.NewPCG(seed, uint64(rows)))
				input := generate(r, columns, rows, 1+r.IntN(900), distributions[3])
				plan := &joincore.Plan{
					Inputs: []joincore.Input{{Columns: input.Columns}}, Root: &joincore.Scan{}, Parameters: []joincore.Parameter{{Int: int64(rows / 50)}},
				}
				if filter != nil {
					plan.Root = &joincore.Filter{Child: plan.Root, Predicate: filter}
				}
				for c := range input.Columns {
					plan.Output = append(plan.Output, ref((c+int(seed))%len(input.Columns)))
				}
				Check(t, fmt.Sprintf("%s of %d rows, seed %d", name, rows, seed), s.Provider, plan, []*joincore.Relation{input}, 1+r.IntN(500),
					exec.Options{Device: device.Options{Streams: 1 + r.IntN(4), ChunkRows: 1 + r.IntN(200), EmitRows: 1 + r.IntN(300)}})
			}
		}
	}
}
