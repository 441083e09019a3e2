package reader

import (
	"bytes"
	"testing"

	"gpujoin/shm"
)

// TestLoad gives the extension reads of the load that coincided with writes.
func TestLoad(t *testing.T) {
	a := shm.Load{Beats: 0xff, Running: 1, Threads: 2, Queued: 3, ProcessorShare: 1000}.Seal()
	b := shm.Load{Beats: 0x100, Running: 4, Threads: 5, Queued: 6, ProcessorShare: 17}.Seal()
	old, now := shm.Append(nil, &a), shm.Append(nil, &b)
	torn := append(bytes.Clone(old[:12]), now[12:]...)
	want := map[string]uint64{} // by input
	var inputs [][]byte
	add := func(beats, readings uint64, pieces ...[]byte) {
		input := bytes.Join(pieces, nil)
		want[string(input)] = beats | readings<<56
		inputs = append(inputs, input)
	}
	add(0xff, 1, old)
	add(0x100, 1, now)
	add(0, shm.LoadReads)                    // an empty file
	add(0, shm.LoadReads, old[:31])          // a file that ends too early
	add(0, shm.LoadReads, make([]byte, 400)) // nothing was written yet
	add(0x100, 2, torn, now)
	add(0x100, shm.LoadReads, torn, torn, torn, now)
	add(0, shm.LoadReads, torn, torn, torn, torn, now)
	for from := 1; from < len(old); from++ {
		piece := append(bytes.Clone(old[:from]), now[from:]...)
		if !bytes.Equal(piece, old) && !bytes.Equal(piece, now) {
			add(0xff, 2, piece, old)
		}
	}
	build(t, "load", "daemon/status_file.c").try(t, inputs, func(input []byte, result uint64) {
		if result != want[string(input)] {
			t.Errorf("%#x and not %#x, of %s", result, want[string(input)], describe(input))
		}
	})
}
