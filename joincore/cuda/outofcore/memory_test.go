package outofcore

import "testing"

// TestResidentBytes: windows stay only in memory that neither windows in flight nor
// co-partitions need, whatever the sizes are.
func TestResidentBytes(t *testing.T) {
	for _, c := range []struct{ free, inFlight, copartition, want int64 }{
		{1000, 400, 300, 500}, // windows in flight are the limit
		{1000, 100, 600, 100}, // co-partitions are
		{1000, 900, 10, 0},    // windows in flight need all
		{1000, 2000, 10, 0},   // and more than that
		{1000, 10, 3000, 0},   // co-partitions do not fit anyway
		{0, 10, 10, 0},
	} {
		if n := residentBytes(c.free, c.inFlight, c.copartition); n != c.want {
			t.Errorf("%+v: %d", c, n)
		}
	}
}

// TestWorthStaying: windows stay if the inputs exceed the memory of all devices little.
func TestWorthStaying(t *testing.T) {
	const free = 800 << 20
	for _, c := range []struct {
		times   int64 // the inputs by the memory of a device
		devices int
		want    bool
	}{{1, 1, true}, {2, 1, true}, {4, 1, false}, {4, 2, true}, {8, 1, false}, {8, 2, false}, {8, 8, true}, {64, 8, false}} {
		rows := free * c.times / 32
		side := sideBytes{columns: 18 * rows, narrow: 8 * rows, partitions: PartitionBytes * rows}
		bits := min(fanoutBits(free, side, side)+1, maxSplitBits)
		if got := worthStaying(free, side, side, 16, bits, c.devices); got != c.want {
			t.Errorf("%+v, %d bits: %t", c, bits, got)
		}
	}
}

// TestMemoryOfAJoin: for inputs of 1/2 to 64 times the device's memory, windows that stay
// leave enough to windows in flight and to a co-partition a fifth larger than the mean, and
// if inputs are only a little larger than the memory, a large part of them stays.
func TestMemoryOfAJoin(t *testing.T) {
	for _, free := range []int64{64 << 20, 800 << 20, 50 << 30} {
		for _, times := range []int64{1, 4, 16, 128} { // halves of the memory
			rows := free * times / 64 // of each side: 16 bytes, in columns that are not nullable
			side := sideBytes{columns: 18 * rows, narrow: 8 * rows, partitions: PartitionBytes * rows}
			bits := min(fanoutBits(free, side, side)+1, maxSplitBits)
			window := min(windowTarget(free, 16, true), rows)
			inFlight := 2*(16+16)*window + window
			stay := residentBytes(free, inFlight, copartitionBytes(side, side, bits))
			if stay+inFlight > free {
				t.Errorf("%d bytes, %d: %d stay, %d are in flight", free, times, stay, inFlight)
			}
			mean := rows >> bits
			if stay > 0 && overflows(free-stay, 2*(16+8)*mean*6/5, 2*PartitionBytes*mean*6/5) {
				t.Errorf("%d bytes, %d: %d stay, and co-partitions of %d rows do not fit", free, times, stay, mean)
			}
			if inputs := 32 * rows; times <= 4 && stay < inputs/4 {
				t.Errorf("%d bytes: %d of inputs of %d stay", free, stay, inputs)
			}
			if window < min(rows, 1<<17) {
				t.Errorf("%d bytes, %d: windows of %d rows", free, times, window)
			}
		}
	}
}
