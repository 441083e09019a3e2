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
		s, err := shapeSpread(c.rows, c.free, costmodel.Interleave)
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

// Each unit has memory of its own on its device, in which the device's units follow each other.
func TestAddressesOfUnits(t *testing.T) {
	s := &spreadShape{unitBits: 12, place: []int{0, 1, 2, 0, 2, 0}}
	const unit = 8 << 12
	all := s.addresses([]uint64{1 << 40, 2 << 40, 3 << 40})
	if want := []uint64{1 << 40, 2 << 40, 3 << 40, 1<<40 + unit, 3<<40 + unit, 1<<40 + 2*unit}; !slices.Equal(all, want) {
		t.Errorf("%x", all)
	}
	if own := s.only(all, 2); !slices.Equal(own, []uint64{0, 0, 3 << 40, 0, 3<<40 + unit, 0}) {
		t.Errorf("%x", own)
	}
}
