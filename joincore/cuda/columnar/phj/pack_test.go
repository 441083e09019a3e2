package phj

import (
	"testing"
)

// Carried fields lie in the stripes of a row buffer, next to the key, where the match and the
// second pass find them.
func TestCarriedValues(t *testing.T) {
	for _, widths := range [][]int{{}, {1}, {2, 1, 4}, {8}, {1, 1, 1, 1, 1, 1, 1, 1}, {4, 8, 2}, {16}, {16, 8, 4, 2, 1}, {16, 4}, {16, 1}, {8, 8, 2, 1}, {16, 8, 4}, {8, 8, 8, 1, 1}, {8, 4, 4, 4, 4, 1}, {4, 16, 2, 1, 1}, {16, 8}, {8, 8, 4}, {8, 1}, {1, 1, 1}, {8, 8, 8}, {2, 2, 2, 2, 2, 2, 2, 2, 1}} {
		for keyWords := 1; keyWords <= 2; keyWords++ {
			s, ok := asFields(keyWords, widths)
			if !ok {
				t.Fatalf("%v is not carried", widths)
			}
			row := keyWords + s.words
			used := make([]bool, 4*row)
			at := map[int]int{keyColumn: 0} // by column: bytes of the row before the value
			for _, v := range carryValues(keyWords, s, widths) {
				before := 0
				for _, size := range stripeSizes(row) {
					if v.stripe == before {
						break
					}
					before += int(size)
				}
				width := 4 * keyWords
				if v.column != keyColumn {
					width = widths[v.column]
				}
				if v.stripe != before || v.offset%min(width, 4) != 0 || v.offset+width > v.stripeSize {
					t.Fatalf("%v, key of %d words: column %d at %+v", widths, keyWords, v.column, v)
				}
				if width < 4 && v.offset%width != 0 {
					t.Errorf("%v: column %d at %+v", widths, v.column, v)
				}
				at[v.column] = v.stripe + v.offset
			}
			for column, from := range at {
				width := 4 * keyWords
				if column != keyColumn {
					width = widths[column]
				}
				for b := from; b < from+width; b++ {
					if used[b] {
						t.Errorf("%v, key of %d words: byte %d has two values", widths, keyWords, b)
					}
					used[b] = true
				}
			}
			end := 0
			for _, v := range placeFields(s.words, widths) {
				width := widths[v.column]
				if at[v.column] != 4*keyWords+v.at {
					t.Errorf("%v, key of %d words: column %d is written to byte %d of the payload and read from %d", widths, keyWords, v.column, at[v.column]-4*keyWords, v.at)
				}
				// The match stages the words that do not make up four, then four at a time.
				if v.at < end || width > 4 && (4*s.words-v.at)%width != 0 && (v.at >= 4*(s.words%4) || v.at+width > 4*(s.words%4)) {
					t.Errorf("%v: column %d at %d of %d words", widths, v.column, v.at, s.words)
				}
				end = v.at + width
			}
		}
	}
}

// Values of a packed row lie in its stripes without overlapping or crossing stripes, each
// at a multiple of its width, and at most half of the last stripe is padding.
func TestPackedValues(t *testing.T) {
	for _, widths := range [][]int{
		{4}, {1}, {16}, {2, 1}, {4, 4, 4, 4, 4}, {1, 2, 4, 8, 16}, {8, 4, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {16, 16, 2}, {4, 8, 1, 1, 8, 2, 16, 1},
	} {
		total := packedBytes(widths)
		used := make([]bool, total)
		for _, v := range packValues(widths) {
			w := widths[v.column]
			if v.stripe%stripeBytes != 0 || v.offset%w != 0 || v.offset+w > v.stripeSize || v.stripe+v.stripeSize > total {
				t.Errorf("%v: column %d at %+v", widths, v.column, v)
			}
			if v.stripeSize != stripeBytes && v.stripe+v.stripeSize != total {
				t.Errorf("%v: a stripe of %d bytes is not the last", widths, v.stripeSize)
			}
			for b := v.stripe + v.offset; b < v.stripe+v.offset+w; b++ {
				if used[b] {
					t.Errorf("%v: byte %d has two values", widths, b)
				}
				used[b] = true
			}
		}
		if n := sum(widths); n > total || total > n+7 || total%4 != 0 {
			t.Errorf("%v: %d bytes of stripes", widths, total)
		}
	}
}
