package phj

// maxFieldWords is the largest payload, in words, that is carried as fields.
const maxFieldWords = 8

// uniform returns the shape of columns that all have 4 or all have 8 bytes. Above 4
// columns their number is rounded up to an even one.
func uniform(widths []int) (shape, bool) {
	if len(widths) == 0 {
		return noPayload, true
	}
	unit := widths[0] / 4
	if unit < 1 || unit > 2 || len(widths)*unit > maxColumns {
		return shape{}, false
	}
	for _, w := range widths {
		if w != 4*unit {
			return shape{}, false
		}
	}
	words := unit * len(widths)
	if unit == 1 && words > 4 {
		words += words % 2
	}
	return shape{words: words, unit: unit}, true
}

// fieldWords returns the words of a row of fields: values are in the order of their
// widths, so that none crosses a multiple of its width.
func fieldWords(widths []int) int {
	n := 0
	for _, w := range widths {
		n += w
	}
	return (n + 3) / 4
}

// fieldParts returns the words that narrow fields share, plus the number of the others: passes
// and match move each of these at once.
func fieldParts(widths []int) int {
	wide, narrow := 0, 0
	for _, w := range widths {
		if w < 4 {
			narrow += w
		} else {
			wide++
		}
	}
	return wide + (narrow+3)/4
}

// fieldShapes are the words of rows of fields by words of the key. Beside an odd number, a key
// of 8 bytes is not in one lane of a row buffer, as the first pass of wide rows needs it.
var fieldShapes = [3][]int{1: {1, 2, 3, 4, 5, 6, 7, maxFieldWords}, 2: {1, 2, 3, 4, 6, maxFieldWords}}

// asFields returns the shape of columns of any widths; false if they are too wide.
func asFields(keyWords int, widths []int) (shape, bool) {
	return narrowest(widths, fieldShapes[keyWords])
}

// narrowest returns the first shape of fields, of those of the given words, that holds the
// columns.
func narrowest(widths, shapes []int) (shape, bool) {
	for _, words := range shapes {
		if fieldWords(widths) <= words {
			return shape{form: fields, words: words, unit: 1}, true
		}
	}
	return shape{}, false
}

// carriedShape returns the shape of a carried side if the other one is reached
// by row id.
func carriedShape(widths []int) shape {
	if s, ok := uniform(widths); ok {
		switch s.String() {
		case "4x1", "4x2", "4x4", "8x2":
			return s
		}
	}
	if s, ok := narrowest(widths, []int{2, 4, maxFieldWords}); ok {
		return s
	}
	return idShape
}
