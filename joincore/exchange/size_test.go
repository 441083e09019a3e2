package exchange

import (
	"testing"

	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

// Without detours a pair's bytes travel in few equal copies; with them, packets grow with
// the traffic, but not beyond the paper's.
func TestSized(t *testing.T) {
	two, err := machines.Mesh("hgx-h200")
	if err == nil {
		two, err = two.Restrict([]int{0, 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	dgx1, err := machines.Mesh("dgx1")
	if err != nil {
		t.Fatal(err)
	}
	traffic := func(m *mesh.Mesh, bytes int64) [][]int64 {
		list := make([][]int64, m.GPUs())
		for i := range list {
			list[i] = make([]int64, m.GPUs())
		}
		list[0][1] = bytes
		return list
	}
	for _, bytes := range []int64{1, 1000, 2 << 20, 16<<20 + 1, 256 << 20, 1<<30 + 4711} {
		c := Default().Sized(two, traffic(two, bytes))
		size := c.CopyBytes(two)
		copies := (bytes + size - 1) / size
		if c.Check() != nil || size > mostCopy+8*256 || bytes <= 32<<20 && copies != 1 || copies > 1+bytes/(16<<20) {
			t.Errorf("%d bytes directly: packets of %d, %d copies", bytes, c.Packet, copies)
		}
	}
	last := int64(0)
	for _, bytes := range []int64{0, 1 << 10, 1 << 20, 64 << 20, 1 << 30, 1 << 40} {
		c := Default().Sized(dgx1, traffic(dgx1, bytes))
		if c.Check() != nil || c.Packet < last || c.Packet > Default().Packet {
			t.Errorf("%d bytes over several hops: packets of %d, before %d", bytes, c.Packet, last)
		}
		last = c.Packet
	}
	if last != Default().Packet {
		t.Errorf("packets of much traffic have %d bytes", last)
	}
}
