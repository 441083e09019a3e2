package mgj

import (
	"slices"
	"testing"

	"gpujoin/joincore/costmodel"
)

// Rows are compressed for PCIe and for copies through host memory, never for NVLink, whatever
// they shrink to.
func TestPackingBySpeed(t *testing.T) {
	const h100, h200 = 3350, 4800 // GB/s of memory
	for _, c := range []struct {
		name   string
		link   float64
		memory float64
		want   bool
	}{
		{"staged", 11, h200, true}, {"staged by both directions", 41, h200, true}, {"an NVLink of a DGX-1", 23, h200, true},
		{"PCIe 5", 54, h100, true}, {"PCIe 3 of a V100", 12, 900, true},
		{"NVSwitch", 377, h200, false}, {"NVSwitch of an H100", 375, h100, false}, {"NVLink of an A100", 270, 1555, false},
	} {
		p := newPacker(PackPays, c.link, c.memory/10)
		if got := p.tries(1 << 30); got != c.want {
			t.Errorf("%s: compressed: %v", c.name, got)
		}
		if !c.want && p.expects(0.1) && c.link > 300 {
			t.Errorf("%s: rows that shrink to a tenth are compressed", c.name)
		}
		if p.tries(costmodel.LeastCompressed-1) || p.expects(0.99) || p.expects(1.1) {
			t.Errorf("%s: few rows, or those that do not shrink, are compressed", c.name)
		}
	}
}

// What has been compressed is sent so if its copy and its expansion are faster than its copy
// alone.
func TestPackedRowsAreSent(t *testing.T) {
	p := newPacker(PackPays, 100, 200)
	for _, c := range []struct {
		wire int64
		want bool
	}{{1000, false}, {600, false}, {490, true}, {100, true}} {
		if got := p.sends(1000, c.wire); got != c.want {
			t.Errorf("%d of 1000 bytes: %v", c.wire, got)
		}
	}
	if p.sends(0, 0) {
		t.Error("nothing is sent as compressed")
	}
}

func TestPackingByOption(t *testing.T) {
	always, never := newPacker(PackAlways, 377, 480), newPacker(PackNever, 1, 480)
	if !always.tries(1) || !always.expects(2) || !always.sends(10, 20) || always.sends(0, 0) {
		t.Error("not all rows are compressed")
	}
	if never.tries(1<<40) || never.expects(0.1) {
		t.Error("rows are compressed")
	}
}

// The first range of a side is compressed to see how much it shrinks, which decides about the next
// ones, of each GPU by its own. What does not shrink enough for one receiver travels as it is.
func TestPackingByWhatWasPacked(t *testing.T) {
	x := newPacking(newPacker(PackPays, 25, 160), 2, 4) // worth it up to three quarters of the bytes
	flow := func(gpu, flow, side int, part float64) bool {
		if !x.begin(gpu, flow, side) {
			return false
		}
		raw, wire := []int64{1000, 1000}, []int64{int64(1000 * part), 0}
		raw[gpu], wire[gpu] = 0, 0
		wire[1-gpu] = int64(1000 * part)
		x.ended(gpu, flow, side, raw, wire)
		return true
	}
	// GPU 0 has rows that shrink, GPU 1 rows that do not, on the build side.
	if !flow(0, 0, 0, 0.4) || !flow(1, 0, 0, 0.95) || !flow(0, 1, 0, 0.4) || flow(1, 1, 0, 0.4) {
		t.Errorf("compressed: %v", x.begun)
	}
	// The probe side of both is another matter.
	if !flow(0, 2, 1, 0.8) || !flow(1, 2, 1, 0.6) || flow(0, 3, 1, 0.4) || !flow(1, 3, 1, 0.6) {
		t.Errorf("compressed: %v", x.begun)
	}
	want := [][][]int64{{{0, 400}, {0, 0}}, {{0, 400}, {0, 0}}, {{0, 800}, {600, 0}}, {{0, 0}, {600, 0}}}
	if !slices.EqualFunc(x.wires, want, func(a, b [][]int64) bool { return slices.EqualFunc(a, b, slices.Equal) }) {
		t.Errorf("%v in place of %v", x.wires, want)
	}
	x.ended(0, 3, 1, []int64{0, 0}, []int64{0, 0}) // nothing was sent
	if x.shrunk[1][0] != 0.8 {
		t.Errorf("%v", x.shrunk)
	}
}
