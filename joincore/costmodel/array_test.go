package costmodel

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

// starJoin is a join of facts, of which several columns are kept, with a table.
func starJoin(build, probe int64) Resident {
	j := residentJoin(4, 1, 4, build, probe, 1, 0)
	j.Payload[1] = columnsOf(8, 4)
	j.TableBytes, j.SortPasses = 16*build, 3
	return j
}

// If the build side is much smaller than the probe side, looking for dense keys
// pays, and an array is chosen for them. Sparse keys change nothing.
func TestDenseKeysAreChosenFor(t *testing.T) {
	r := &DefaultDeviceRates
	for _, build := range []int64{1 << 19, 1 << 21} {
		j := starJoin(build, 1<<26)
		if !r.RangeDecides(j) {
			t.Errorf("%d rows: it is not looked for dense keys", build)
		}
		before := r.Pick(j)
		for name, array := range map[string]Array{"in order": {4 * build, 1}, "in any order": {4 * build, 0}, "every second one": {8 * build, 1}} {
			dense := j
			dense.Array = array
			if m := r.Pick(dense); m.Algorithm != joincore.NPJ || m.Prediction.MS() >= 0.9*before.Prediction.MS() {
				t.Errorf("%d rows, dense keys %s: %v, %.3f ms after %.3f", build, name, m.Algorithm, m.Prediction.MS(), before.Prediction.MS())
			}
		}
	}
}

// If partitions carry little, no array is faster, and none is looked for.
func TestDenseKeysAreNotLookedForInVain(t *testing.T) {
	r := &DefaultDeviceRates
	noTable := starJoin(1<<23, 1<<26)
	noTable.TableBytes = 0
	large := residentJoin(4, 2, 4, 1<<27, 1<<28, 1, 0)
	large.TableBytes = 16 << 27
	few := large
	few.MatchRatio = 1. / 16
	crowded := starJoin(1<<24, 1<<27) // array and column exceed the cache
	for name, j := range map[string]Resident{"no table": noTable, "large": large, "few match": few, "crowded": crowded, "short": starJoin(1<<12, 1<<14)} {
		if r.RangeDecides(j) {
			t.Errorf("%s: it is looked for dense keys", name)
		}
	}
}

// If no dense keys are looked for, knowing them would hardly have changed the
// choice. An array never makes a join slower.
func TestNothingIsLostWithoutTheRange(t *testing.T) {
	r, random := &DefaultDeviceRates, rand.New(rand.NewPCG(3, 4))
	looked := 0
	for range 2000 {
		j := residentJoin(4<<random.IntN(2), 0, 4, 1<<random.IntN(28), 1<<random.IntN(29), random.Float64(), 0)
		j.Payload = [2][]int{columnsOf(random.IntN(3), 4), columnsOf(random.IntN(9), 4)}
		j.TableBytes, j.SortPasses = 16*j.Rows[0], 3
		dense := j
		dense.Array = Array{Bytes: int64((1 + random.Float64()) * 4 * float64(j.Rows[0])), Near: random.Float64()}
		without, with := r.Pick(j), r.Pick(dense)
		gain, asks := without.cost()-with.cost(), r.RangeDecides(j)
		if asks {
			looked++
		}
		if slack := noDifference * without.cost(); gain < -slack || !asks && gain > 2*r.RangeMS(&j)+slack {
			t.Fatalf("%+v: %v takes %.3f ms, with %+v %v %.3f; looked for: %v", j, without.Algorithm, without.cost(), dense.Array, with.Algorithm, with.cost(), asks)
		}
	}
	if looked == 0 || looked == 2000 {
		t.Errorf("it is looked for dense keys %d times", looked)
	}
}

// An array of 8-byte keys tells keys apart by itself.
func TestArraysCompareNoKeys(t *testing.T) {
	narrow, wide := starJoin(1<<23, 1<<26), starJoin(1<<23, 1<<26)
	wide.KeyBytes = 8
	more := func(a Array) float64 {
		narrow.Array, wide.Array = a, a
		return DefaultDeviceRates.PredictTable(&wide).Of(PhaseProbe) - DefaultDeviceRates.PredictTable(&narrow).Of(PhaseProbe)
	}
	if array, table := more(Array{Bytes: 4 << 23, Near: 1}), more(Array{}); array >= table/3 {
		t.Errorf("keys twice as wide take %.3f ms more of an array, %.3f of a table", array, table)
	}
}
