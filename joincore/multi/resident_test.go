package multi

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// having is a member with some contents.
type having struct {
	device.Provider
	contents map[uint64]bool
}

func (h having) Holds(content uint64) bool { return h.contents[content] }

// TestDivisionByResidence: members get the rows that they have, new ones go to who has few, and
// nobody gets too many.
func TestDivisionByResidence(t *testing.T) {
	relation := func(contents ...uint64) *joincore.Relation {
		r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 8}}}
		for _, c := range contents {
			r.Segments = append(r.Segments, joincore.Segment{Rows: 800, Columns: []joincore.Vector{{Values: make([]byte, 8*800), Content: c}}})
		}
		return r
	}
	a := having{contents: map[uint64]bool{1: true, 3: true, 5: true}}
	b := having{contents: map[uint64]bool{2: true, 4: true, 5: true}}
	for name, c := range map[string]struct {
		in   []uint64
		want [2][]uint64
	}{
		"alternating":      {[]uint64{1, 2, 3, 4}, [2][]uint64{{1, 3}, {2, 4}}},
		"both have one":    {[]uint64{5, 2}, [2][]uint64{{5}, {2}}},
		"new ones":         {[]uint64{1, 7, 8, 2}, [2][]uint64{{1, 7}, {8, 2}}},
		"without a name":   {[]uint64{4, 0}, [2][]uint64{{0}, {4}}},
		"one has too many": {[]uint64{1, 3}, [2][]uint64{{1}, {3}}},
		"nobody has any":   {[]uint64{7, 8, 9}, [2][]uint64{{7, 8}, {8, 9}}},
	} {
		parts := divide(relation(c.in...), []device.Provider{a, b})
		for m, p := range parts {
			var got []uint64
			for _, s := range p.Segments {
				got = append(got, s.Columns[0].Content)
			}
			if len(got) != len(c.want[m]) {
				t.Errorf("%s: member %d has %v, and not %v", name, m, got, c.want[m])
				continue
			}
			for i := range got {
				if got[i] != c.want[m][i] {
					t.Errorf("%s: member %d has %v, and not %v", name, m, got, c.want[m])
				}
			}
		}
		if parts[0].Rows()+parts[1].Rows() != relation(c.in...).Rows() {
			t.Errorf("%s: %d and %d rows", name, parts[0].Rows(), parts[1].Rows())
		}
	}
	cut := slice(relation(7, 8, 9), 2)
	if v := cut[1].Segments[0].Columns[0]; v.Content != 8 || v.From != 400 {
		t.Errorf("the second half of content %d begins at row %d", v.Content, v.From)
	}
}
