package reader

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/keyfilter"
)

// filterInput is what c/filter.c reads.
func filterInput(kind uint32, keys []int64, extent []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(keys)))
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint64(b, uint64(k))
	}
	return append(b, extent...)
}

// passing is the result of c/filter.c according to the Go reader.
func passing(input []byte) uint64 {
	kind, n := binary.LittleEndian.Uint32(input), int(binary.LittleEndian.Uint32(input[4:]))
	if n > 60 || 8+8*n > len(input) {
		return 0
	}
	f, err := shm.ReadFilter(input[8+8*n:])
	if err != nil || uint32(f.Header.Kind) != kind {
		return 0
	}
	result := uint64(1) << 63
	for i := range n {
		if f.Test(int64(binary.LittleEndian.Uint64(input[8+8*i:]))) {
			result |= 1 << i
		}
	}
	return result
}

// made makes a filter of random keys, and other keys to test: some that it has,
// others near them, and extreme ones.
func made(t *testing.T, r *rand.Rand) []byte {
	spread := uint64(1) << r.IntN(64)
	values := make([]byte, 8*r.IntN(200))
	keys := []int64{0, math.MinInt64, math.MaxInt64}
	for i := range len(values) / 8 {
		key := r.Uint64N(spread) - spread/2
		binary.LittleEndian.PutUint64(values[8*i:], key)
		if len(keys) < 50 {
			keys = append(keys, int64(key)+int64(r.IntN(3))-1)
		}
	}
	relation := &joincore.Relation{
		Columns:  []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}},
		Segments: []joincore.Segment{{Rows: len(values) / 8, Columns: []joincore.Vector{{Values: values}}}},
	}
	extent := make([]byte, 2048)
	h, err := keyfilter.Make(extent, relation, 0, r.Uint64(), func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return filterInput(uint32(h.Kind), keys, extent[:shm.FilterDataOff+h.Bytes])
}

// TestFilters: feed_keys.c accepts the filters that the Go reader accepts, passes
// the same keys, and never reads out of bounds.
func TestFilters(t *testing.T) {
	r := random(t)
	var inputs [][]byte
	kinds := map[uint32]int{}
	for len(inputs) < *rounds {
		input := made(t, r)
		kinds[binary.LittleEndian.Uint32(input)]++
		inputs = append(inputs, input, mutate(r, input), mutate(r, input))
	}
	if kinds[uint32(shm.FilterBitmap)] < 100 || kinds[uint32(shm.FilterBloom)] < 100 {
		t.Errorf("filters by kind: %v", kinds)
	}
	taken := 0
	build(t, "filter", "feed_keys.c", "numeric.c").try(t, inputs, func(input []byte, result uint64) {
		if len(input) < 8 {
			return
		}
		if want := passing(input); result != want {
			t.Errorf("%#x instead of %#x", result, want)
		}
		if result != 0 {
			taken++
		}
	})
	if taken < len(inputs)/3 || taken == len(inputs) {
		t.Errorf("%d of %d filters were taken", taken, len(inputs))
	}
}
