package device_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// A row takes its values along, and for those that do not move its id: of a table it does so only if it is
// a build row.
func TestRowsThatMeet(t *testing.T) {
	columns := []joincore.Column{
		{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Fixed, Width: 16, Align: 8},
		{Kind: joincore.Varlena, Align: 4}, {Kind: joincore.Fixed, Width: 24, Align: 8},
	}
	nullable := []joincore.Vector{{}, {Validity: []byte{}}, {Validity: []byte{}}, {}}
	r := &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Columns: make([]joincore.Vector, 4)}, {Columns: nullable}}}
	for name, c := range map[string]struct {
		columns, byID []int
		bytes         int64
		fetches       bool
	}{
		"a number":       {[]int{0}, nil, 8, false},
		"two":            {[]int{0, 1}, nil, 8 + 17, false},
		"a text":         {[]int{0, 2}, nil, 8 + 4, true},
		"a wide value":   {[]int{3, 1}, nil, 17 + 4, true},
		"both":           {[]int{2, 3}, nil, 4, true},
		"carried":        {[]int{0}, []int{1}, 8 + 4, true},
		"nothing at all": {nil, nil, 0, false},
	} {
		x := &device.Exchange{Rows: [2]*joincore.Relation{r, r}}
		x.Columns[1], x.ByID[1] = c.columns, c.byID
		if x.RowBytes(0) != 0 || x.RowBytes(1) != c.bytes || x.Fetches(1) != c.fetches || x.Numbers(1) != c.fetches || x.Fetches(0) {
			t.Errorf("%s: %d bytes, fetched: %v, with ids: %v", name, x.RowBytes(1), x.Fetches(1), x.Numbers(1))
		}
		for x.Build = range 2 {
			if x.Spread = true; x.Numbers(1) != (c.fetches && x.Build == 1) {
				t.Errorf("%s, side %d is built: with ids: %v", name, x.Build, x.Numbers(1))
			}
		}
	}
}

// Rows of each execution follow those of the one before, also if one has none.
func TestRangesOfExecutions(t *testing.T) {
	part := func(rows ...int) [2]*joincore.Relation {
		r := &joincore.Relation{}
		for _, n := range rows {
			r.Segments = append(r.Segments, joincore.Segment{Rows: n})
		}
		return [2]*joincore.Relation{{}, r}
	}
	x := &device.Exchange{Rows: [2]*joincore.Relation{{}, {}}, Parts: [][2]*joincore.Relation{part(3, 1), part(), part(5)}}
	for execution, want := range [][2]int{{0, 2}, {2, 2}, {2, 3}} {
		all, low, high := x.Ranges(1, execution)
		if all.Rows() != 9 || len(all.Segments) != 3 || all.Segments[2].Rows != 5 || [2]int{low, high} != want {
			t.Errorf("execution %d has segments %d to %d of %d", execution, low, high, len(all.Segments))
		}
		if all, low, high := x.Ranges(0, execution); all.Rows() != 0 || low != 0 || high != 0 {
			t.Errorf("execution %d has segments of nothing: %d to %d", execution, low, high)
		}
	}
}
