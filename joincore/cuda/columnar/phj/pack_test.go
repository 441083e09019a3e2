package phj

import (
	"slices"
	"testing"
)

// Carried fields lie in the lanes of a row buffer, next to the key, where the match and the
// second pass find them.
func TestCarriedValues(t *testing.T) {
	for _, widths := range [][]int{{1}, {2, 1, 4}, {8}, {1, 1, 1, 1, 1, 1, 1, 1}, {4, 8, 2}, {16}, {16, 8, 4, 2, 1}, {8, 8, 8}, {2, 2, 2, 2, 2, 2, 2, 2, 1}} {
		for keyWords := 1; keyWords <= 2; keyWords++ {
			s, ok := asFields(widths)
			if !ok {
				t.Fatalf("%v is not carried", widths)
			}
			row := keyWords + s.words
			lanes := []int{4 * (row % 2), 8 * (row % 4 / 2)} // Lanes in kernels/layout/row.cuh
			for range row / 4 {
				lanes = append(lanes, 16)
			}
			at := map[int]int{} // by column: bytes of the row before the value
			for _, v := range carryValues(keyWords, s, widths) {
				before, found := 0, false
				for _, size := range lanes {
					if found = found || size > 0 && v.lane == before && v.laneSize == size; found {
						break
					}
					before += size
				}
				width := 4 * keyWords
				if v.column != keyColumn {
					width = widths[v.column]
				}
				if !found || v.offset%width != 0 || v.offset+width > v.laneSize {
					t.Errorf("%v, key of %d words: column %d at %+v", widths, keyWords, v.column, v)
				}
				at[v.column] = v.lane + v.offset
			}
			if key, ok := at[keyColumn]; ok && key != 0 {
				t.Errorf("%v: the key is at %d", widths, key)
			}
			for _, v := range placeValues(widths) {
				if at[v.column] != 4*keyWords+v.at {
					t.Errorf("%v, key of %d words: column %d is written to byte %d of the payload and read from %d", widths, keyWords, v.column, at[v.column]-4*keyWords, v.at)
				}
			}
		}
	}
}

// Narrow values that fill a word are written together.
func TestValuesTogether(t *testing.T) {
	for _, c := range []struct{ widths, want []int }{
		{[]int{1, 1, 1, 1, 1}, []int{4, 1, 1, 1, 1}},
		{[]int{1, 2, 1, 1}, []int{1, 1, 1, 1}},
		{[]int{2, 2, 2, 4}, []int{1, 2, 1, 1}},
		{[]int{16, 8}, []int{1, 1}},
	} {
		var got []int
		for _, v := range placeValues(c.widths) {
			got = append(got, v.together)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.widths, got, c.want)
		}
	}
}

// Values of a packed row lie in its lanes without overlapping or crossing lanes, each
// at a multiple of its width, and at most half of the last lane is padding.
func TestPackedValues(t *testing.T) {
	for _, widths := range [][]int{
		{4}, {1}, {16}, {2, 1}, {4, 4, 4, 4, 4}, {1, 2, 4, 8, 16}, {8, 4, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {16, 16, 2}, {4, 8, 1, 1, 8, 2, 16, 1},
	} {
		total := packedBytes(widths)
		used := make([]bool, total)
		for _, v := range packValues(widths) {
			w := widths[v.column]
			if v.lane%laneBytes != 0 || v.offset%w != 0 || v.offset+w > v.laneSize || v.lane+v.laneSize > total {
				t.Errorf("%v: column %d at %+v", widths, v.column, v)
			}
			if v.laneSize != laneBytes && v.lane+v.laneSize != total {
				t.Errorf("%v: a lane of %d bytes is not the last", widths, v.laneSize)
			}
			for b := v.lane + v.offset; b < v.lane+v.offset+w; b++ {
				if used[b] {
					t.Errorf("%v: byte %d has two values", widths, b)
				}
				used[b] = true
			}
		}
		if n := sum(widths); n > total || total > n+7 || total%4 != 0 {
			t.Errorf("%v: %d bytes of lanes", widths, total)
		}
	}
}
