package cuda

import "testing"

// rangeMemory is a global because a stack, and with it a slice, may move.
var rangeMemory [100]byte

func TestRegisteredRanges(t *testing.T) {
	mem := rangeMemory[:]
	var r ranges
	if r.holds(mem) {
		t.Error("nothing is registered")
	}
	r.add(mem[60:80])
	r.add(mem[10:30])
	for _, c := range []struct {
		from, to int
		want     bool
	}{{10, 30, true}, {12, 13, true}, {9, 12, false}, {29, 31, false}, {30, 40, false}, {60, 80, true}, {0, 100, false}, {79, 80, true}, {80, 81, false}} {
		if got := r.holds(mem[c.from:c.to]); got != c.want {
			t.Errorf("[%d, %d): %v", c.from, c.to, got)
		}
	}
	r.remove(mem[10:30])
	if r.holds(mem[10:30]) || !r.holds(mem[60:61]) {
		t.Error("the wrong one was removed")
	}
}
