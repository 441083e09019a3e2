package selector

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore/costmodel"
)

// The chosen materialisation of a partitioned hash join is one that phj executes as it
// is: asked again, it gives the same.
func TestNothingIsChosenThatIsRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	widths := func() (w []int) {
		for range random.IntN(7) {
			w = append(w, []int{1, 2, 4, 4, 4, 8, 8, 16}[random.IntN(8)])
		}
		return w
	}
	transforms := []costmodel.Transform{costmodel.Carry, costmodel.Place, costmodel.Fetch}
	for range 20_000 {
		j := costmodel.Resident{
			KeyBytes: 4 << random.IntN(2), Rows: [2]int64{1 << random.IntN(28), 1 << random.IntN(29)},
			Payload: [2][]int{widths(), widths()}, MatchRatio: random.Float64(), Hot: max(0, random.Float64()-0.5),
		}
		j = Describe(j, random.Int64N(2*j.Rows[1]+1), 0)
		wanted := costmodel.Materialisation{Build: transforms[random.IntN(3)], Probe: transforms[random.IntN(3)], Bypass: random.IntN(2) == 0, Bloom: random.IntN(2) == 0}
		done, carried := j.Shape(wanted)
		if again, same := j.Shape(done); again != done || same != carried {
			t.Fatalf("%+v: %+v becomes %+v, and that %+v", j, wanted, done, again)
		}
		m := costmodel.DefaultDeviceRates.Materialisation(j)
		if again, _ := j.Shape(m); again != m {
			t.Fatalf("%+v: %+v is chosen, and %+v is done", j, m, again)
		}
		if m.Bypass && m.Probe != costmodel.Carry {
			t.Fatalf("%+v: hot keys go round a probe side that is not carried: %+v", j, m)
		}
	}
}
