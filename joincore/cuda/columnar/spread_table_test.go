package columnar

import (
	"errors"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

// A table has two slots a row, or five for four rows where memory lacks. Each device has as many units as
// its memory holds in addition to links, and leaves a quarter of it.
func TestShapesOfSpreadTables(t *testing.T) {
	const gb, plenty = 1 << 30, 1 << 40
	for name, c := range map[string]struct {
		rows, free []int64
		slots      float64 // a row, at least; 0: err
		err        error
	}{
		"half full":             {[]int64{1 << 27, 1 << 27}, []int64{plenty, plenty}, 2, nil},
		"one device":            {[]int64{1 << 27}, []int64{plenty}, 2, nil},
		"eight":                 {slices.Repeat([]int64{1 << 25}, 8), slices.Repeat([]int64{plenty}, 8), 2, nil},
		"three":                 {[]int64{1 << 27, 0, 5}, []int64{plenty, plenty, plenty}, 2, nil},
		"no rows":               {[]int64{0, 0, 0}, []int64{plenty, plenty, plenty}, 1, nil},
		"fuller":                {[]int64{1 << 27, 1 << 27}, []int64{2.5 * gb, 2.5 * gb}, 1.25, nil},
		"too little":            {[]int64{1 << 27, 1 << 27}, []int64{2 * gb, 2 * gb}, 0, joincore.ErrBudget},
		"one with little":       {[]int64{1 << 27, 1 << 27}, []int64{gb, 8 * gb}, 2, nil},
		"no memory for links":   {[]int64{1 << 27, 1 << 27}, []int64{0, plenty}, 2, nil}, // that is found out when they are taken
		"the most rows":         {[]int64{1<<30 - 1<<20, 1<<30 - 1<<20}, []int64{plenty, plenty}, 1.25, nil},
		"more rows":             {[]int64{1 << 30, 1<<30 + 1}, []int64{plenty, plenty}, 0, joincore.ErrUnsupported},
		"more than their ids":   {[]int64{1 << 30, 0, 0}, []int64{plenty, plenty, plenty}, 0, joincore.ErrUnsupported},
		"nine devices":          {make([]int64, 9), make([]int64, 9), 0, joincore.ErrUnsupported},
		"different, and little": {[]int64{1 << 20, 1 << 28}, []int64{gb, 5 * gb}, 1.25, nil},
	} {
		s, err := shapeSpread(c.rows, c.free, Placing{On: costmodel.Interleave})
		if c.err != nil || err != nil {
			if c.err == nil || !errors.Is(err, c.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		all := int64(0)
		for _, n := range c.rows {
			all += n
		}
		units := int64(len(s.place))
		slots := units * s.unitSlots()
		if float64(slots) < c.slots*float64(all) || slots <= all || slots > 1<<32 || units < int64(len(c.rows)) || units > int64(unitsPerDevice*len(c.rows)) {
			t.Errorf("%s: %d units of %d slots for %d rows", name, units, s.unitSlots(), all)
		}
		placed := 0
		for d := range c.rows {
			placed += s.on(d)
			if used := int64(s.on(d))*s.unitBytes() + linkBytes*c.rows[d]; s.on(d) > 0 && used > c.free[d]/4*3 {
				t.Errorf("%s: device %d has %d bytes of %d", name, d, used, c.free[d])
			}
		}
		if placed != len(s.place) {
			t.Errorf("%s: %d units of %d are on a device", name, placed, len(s.place))
		}
	}
}

// A device reads the keys of all other rows, and later a part of slots and values that is the others' share.
func TestFarReads(t *testing.T) {
	s := &spreadShape{unitBits: 12, place: []int{0, 1, 2, 0}}
	rows := []int64{600, 100, 300}
	for own, want := range map[int]struct{ made, probed int64 }{
		0: {400 * 8, 10_000*8/2 + 5000*(8+12)*4/10},
		1: {900 * 8, 10_000*8*3/4 + 5000*(8+12)*9/10},
	} {
		f := s.farReads(own, rows, 8, []int{8, 4})
		if got := f.Probed(10_000, 5000); f.Made != want.made || got < want.probed-1 || got > want.probed+1 {
			t.Errorf("device %d: %d and %d bytes, want %v", own, f.Made, got, want)
		}
	}
	narrow := s.farReads(0, rows, 4, []int{4})
	if want := int64(5000 * 4 * 4 / 10); narrow.Made != 400*4 || narrow.Probed(0, 5000) < want-1 || narrow.Probed(0, 5000) > want+1 {
		t.Errorf("narrow keys: %d and %d bytes", narrow.Made, narrow.Probed(0, 5000))
	}
	if f := s.farReads(1, []int64{0, 0, 0}, 8, nil); f.Made != 0 || f.Probed(100, 0) != 600 {
		t.Errorf("no build rows: %+v", f)
	}
}

// Each unit has memory of its own on its device, in which the device's units follow each other.
func TestAddressesOfUnits(t *testing.T) {
	s := &spreadShape{unitBits: 12, place: []int{0, 1, 2, 0, 2, 0}}
	const unit = 8 << 12
	all := s.addresses([]uint64{1 << 40, 2 << 40, 3 << 40}, 0)
	if want := []uint64{1 << 40, 2 << 40, 3 << 40, 1<<40 + unit, 3<<40 + unit, 1<<40 + 2*unit}; !slices.Equal(all, want) {
		t.Errorf("%x", all)
	}
	if own := s.only(all, 2); !slices.Equal(own, []uint64{0, 0, 3 << 40, 0, 3<<40 + unit, 0}) {
		t.Errorf("%x", own)
	}
}

// Units are on the host only if the fullest table exceeds the devices. They are small enough to be made in the memory that the
// table leaves.
func TestShapesOfHybridTables(t *testing.T) {
	const gb, plenty = 1 << 30, 1 << 40
	host := func(int64) ([]byte, error) { return nil, nil }
	for name, c := range map[string]struct {
		rows, free []int64
		hosted     float64 // the least share
	}{
		"half full":           {[]int64{1 << 27, 1 << 27}, []int64{plenty, plenty}, 0},
		"fuller":              {[]int64{1 << 27, 1 << 27}, []int64{2.5 * gb, 2.5 * gb}, 0},
		"a part":              {[]int64{1 << 27, 1 << 27}, []int64{2 * gb, 2 * gb}, 0.15},
		"most":                {[]int64{1 << 27, 1 << 27}, []int64{gb, gb}, 0.75},
		"one device":          {[]int64{1 << 28}, []int64{2 * gb}, 0.75},
		"one device, a part":  {[]int64{1 << 28}, []int64{4 * gb}, 0.15},
		"memory for no slots": {[]int64{1 << 28}, []int64{gb}, 1},
		"few rows":            {[]int64{1000}, []int64{64 << 10}, 0},
		"nothing is free":     {[]int64{1000, 0}, []int64{0, 0}, 1},
	} {
		s, err := shapeSpread(c.rows, c.free, Placing{On: costmodel.Interleave, Rest: costmodel.Greedy, Host: host})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		units, all := len(s.place), int64(0)
		for d, n := range c.rows {
			all += n
			if used := int64(s.on(d))*s.unitBytes() + linkBytes*n; s.on(d) > 0 && used > c.free[d]/4*3 {
				t.Errorf("%s: device %d has %d bytes of %d", name, d, used, c.free[d])
			}
		}
		share := float64(s.on(costmodel.OnHost)) / float64(units)
		if share < c.hosted || share > c.hosted+0.1 || share > 0 && s.unitBits > leastUnitBits && s.unitBytes() > slices.Min(c.free)/8 {
			t.Errorf("%s: %.3f of %d units of %d bytes are on the host", name, share, units, s.unitBytes())
		}
		if slots := int64(units) * s.unitSlots(); 4*slots < 5*all || share > 0 && slots > all*3/2+int64(len(c.rows))<<leastUnitBits {
			t.Errorf("%s: %d slots for %d rows", name, slots, all)
		}
	}
	if _, err := shapeSpread([]int64{1<<31 + 1}, []int64{1}, Placing{On: costmodel.Interleave, Rest: costmodel.Greedy, Host: host}); !errors.Is(err, joincore.ErrUnsupported) {
		t.Errorf("more rows than slots: %v", err)
	}
}

// Units on the host follow each other there. Devices take turns in making them.
func TestUnitsOnTheHost(t *testing.T) {
	const unit, h = 8 << 12, costmodel.OnHost
	s := &spreadShape{unitBits: 12, place: []int{h, 0, h, 1, h, h, 0, h}}
	all := s.addresses([]uint64{1 << 40, 2 << 40}, 3<<40)
	if want := []uint64{3 << 40, 1 << 40, 3<<40 + unit, 2 << 40, 3<<40 + 2*unit, 3<<40 + 3*unit, 1<<40 + unit, 3<<40 + 4*unit}; !slices.Equal(all, want) {
		t.Errorf("%x", all)
	}
	for device, want := range [][]int{{0, 4, 7}, {2, 5}} {
		if got := s.hosted(device, 2); !slices.Equal(got, want) {
			t.Errorf("device %d makes units %v", device, got)
		}
	}
	if got := s.only(all, h); !slices.Equal(got, []uint64{3 << 40, 0, 3<<40 + unit, 0, 3<<40 + 2*unit, 3<<40 + 3*unit, 0, 3<<40 + 4*unit}) {
		t.Errorf("%x", got)
	}
}
