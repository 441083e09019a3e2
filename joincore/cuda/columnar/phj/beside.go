package phj

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
		bytes := 0
		for _, w := range widths[i] {
			bytes += w
		}
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
