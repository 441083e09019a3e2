package suite

import (
	"iter"
	"math/rand/v2"

	"gpujoin/joincore"
)

// Plan is a case of the matrix for tests that do not execute plans by a
// provider in this process.
type Plan struct {
	Name   string // describes the case completely
	Plan   *joincore.Plan
	Inputs []*joincore.Relation
	Batch  int // maximum rows of a batch
}

// Plans returns n cases of the matrix by seed: all kinds of joins over all key
// types and distributions.
func Plans(n int) iter.Seq[Plan] {
	return func(yield func(Plan) bool) {
		for seed := range uint64(n) {
			r := rand.New(rand.NewPCG(seed, 5))
			c := joinCase{
				algorithm: joincore.NPJ, kind: kinds[seed%uint64(len(kinds))],
				keys: pick(r, keyTypes), dist: pick(r, distributions), left: pick(r, sizes), right: pick(r, sizes),
				segment: 1 + r.IntN(120), batch: pick(r, batches), residual: r.IntN(3) == 0, seed: seed,
			}
			if !c.meaningful() {
				continue
			}
			plan, inputs := c.plan()
			if !yield(Plan{c.String(), plan, inputs, c.batch}) {
				return
			}
		}
	}
}
