package phj

import (
	"fmt"

	"gpujoin/joincore/cuda/columnar"
)

// mode is how a side's payload goes through a join.
type mode uint8

const (
	carry mode = iota // moved with the key by every pass (OM)
	place             // moved by the first pass, then gathered from where that has clustered it
	pack              // the same, packed into stripes: any number of columns of any widths
	rowID             // gathered from the input by row id (UM)
)

// positioned reports whether the passes move positions of payload that the first pass has
// clustered.
func (m mode) positioned() bool { return m == place || m == pack }

// form is how the kernels see it: kernels/layout/payload.cuh.
type form uint8

const (
	columns form = iota
	fields
	beside // fields, of which one of 1 byte shares the key's word with what is left of the hash
	byID
	packed
)

// shape is a side's payload as the passes carry it: words of 4 bytes next to the key's,
// `unit` of them per column.
type shape struct {
	form  form
	words int
	unit  int
}

// String is the shape in the names of kernels.
func (s shape) String() string {
	switch {
	case s.form == byID:
		return "id"
	case s.form == packed:
		return "packed"
	case s.form == fields:
		return fmt.Sprintf("f%d", s.words)
	case s.form == beside:
		return fmt.Sprintf("h%d", 4*s.words+1)
	case s.words == 0:
		return "0"
	}
	return fmt.Sprintf("%dx%d", 4*s.unit, s.words/s.unit)
}

var (
	noPayload = shape{unit: 1}
	idShape   = shape{form: byID, words: 1, unit: 1}
	oneColumn = shape{words: 1, unit: 1}
)

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
func fieldWords(widths []int) int { return (columnar.Total(widths) + 3) / 4 }

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
// of 8 bytes is not in one stripe of a row buffer, as the first pass of wide rows needs it.
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

// The hash of a key of 4 bytes is a bijection. Once a pass has divided rows by besideBits of
// it, the rest fits a word together with a value of 1 byte, and rows of 1, 5, 9 or 13 bytes
// of payload take a word less.
const besideBits = 8

// A second pass of fewer bits than these adds to so few counters that it is slower. For a side
// that takes no word less this is a loss, which the other side makes up for if it has twice as
// many rows.
const besideSecondBits = 4

// mostBeside is the most bytes of such payload.
const mostBeside = 13

// besidePair returns the shapes of a carried pair with a byte beside the rest of the hash on
// the sides where that saves a word; false if that is on neither, or there are no kernels
// for the pair, or it does not pay. rows are the sides', bits are those of the join, which
// must have a second pass; aligned as for firstKernel.
func besidePair(keyWords int, rows [2]int64, bits int, s [2]shape, modes [2]mode, widths [2][]int, aligned [2]bool) ([2]shape, bool) {
	if keyWords != 1 || bits <= besideBits || modes != [2]mode{carry, carry} {
		return s, false
	}
	was, saved, wide := s, [2]bool{}, 0
	for i := range s {
		bytes := columnar.Total(widths[i])
		switch {
		case bytes == 0:
			s[i] = noPayload
		case bytes%4 == 1 && bytes <= mostBeside && aligned[i]:
			s[i] = shape{form: beside, words: bytes / 4, unit: 1}
			saved[i] = true
			if bytes > 5 {
				wide++
			}
		case s[i].words > 1 || s[i].form == fields && !aligned[i]: // wider rows have no kernels; columns that begin anywhere stay as they are
			return was, false
		}
	}
	if wide == 1 && s[0] != noPayload && s[1] != noPayload { // nor has a wide side next to a narrow one
		return was, false
	}
	pays := saved[0] || saved[1]
	if bits < besideBits+besideSecondBits {
		pays = saved[0] && (saved[1] || rows[0] >= 2*rows[1]) || saved[1] && rows[1] >= 2*rows[0]
	}
	if !pays {
		return was, false
	}
	return s, true
}
