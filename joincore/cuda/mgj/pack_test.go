package mgj

import "testing"

func TestPackingPaysOnSlowLinks(t *testing.T) {
	if !Pays(200, 100, 23, 200, 200) {
		t.Error("half the bytes, a link of 23 GB/s")
	}
	if Pays(200, 100, 397, 400, 400) {
		t.Error("half the bytes, a link as fast as packing")
	}
	if Pays(200, 200, 1, 400, 400) || Pays(200, 210, 1, 400, 400) {
		t.Error("rows that do not shrink")
	}
}

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
		p := newPacker(PackPays, c.link, c.memory)
		if got := p.tries(1 << 30); got != c.want {
			t.Errorf("%s: compressed: %v", c.name, got)
		}
		if !c.want && p.expects(0.1) && c.link > 300 {
			t.Errorf("%s: rows that shrink to a tenth are compressed", c.name)
		}
		if p.tries(leastPacked-1) || p.expects(0.99) || p.expects(1.1) {
			t.Errorf("%s: few rows, or those that do not shrink, are compressed", c.name)
		}
	}
}

// What has been compressed is sent so if its copy and its expansion are faster than its copy
// alone.
func TestPackedRowsAreSent(t *testing.T) {
	p := newPacker(PackPays, 100, 1600) // 200 GB/s
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
	always, never := newPacker(PackAlways, 377, 4800), newPacker(PackNever, 1, 4800)
	if !always.tries(1) || !always.expects(2) || !always.sends(10, 20) || always.sends(0, 0) {
		t.Error("not all rows are compressed")
	}
	if never.tries(1<<40) || never.expects(0.1) {
		t.Error("rows are compressed")
	}
}
