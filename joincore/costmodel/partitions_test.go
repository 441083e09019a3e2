package costmodel

import "testing"

// The paper's V100 has 64 KB and two blocks; the paper keeps half of these partitions. An H100 has
// 227 KB for one block, which count 2^16 partitions in entries of 2 bytes.
func TestMostPartitions(t *testing.T) {
	for _, c := range []struct{ shared, entry, blocks, want int }{
		{64 << 10, 4, 2, 8192}, {227 << 10, 2, 1, 116224}, {227 << 10, 4, 1, 58112}, {163 << 10, 2, 1, 83456}, {7, 4, 1, 1}, {3, 4, 1, 0},
	} {
		if got := MostPartitions(c.shared, c.entry, c.blocks); got != c.want {
			t.Errorf("%d bytes, entries of %d, %d blocks: %d partitions, want %d", c.shared, c.entry, c.blocks, got, c.want)
		}
	}
}
