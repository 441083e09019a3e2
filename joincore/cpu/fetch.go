package cpu

// fetch gathers one value per row of a slot; missing rows read as other.
func fetch[T word](dst []T, src [][]T, s *slot, other T) {
	mask, shift := s.space.mask(), s.space.shift
	if s.pos == nil {
		from := int(s.first & mask)
		copy(dst, src[s.segment()][from:from+len(dst)])
		return
	}
	pos := s.pos[:len(dst)]
	switch {
	case s.null:
		for i, p := range pos {
			if p == none {
				dst[i] = other
			} else {
				dst[i] = src[p>>shift][p&mask]
			}
		}
	case s.one:
		one := src[s.segment()]
		for i, p := range pos {
			dst[i] = one[p&mask]
		}
	case len(src) == 1:
		one := src[0]
		for i, p := range pos {
			dst[i] = one[p]
		}
	default:
		for i, p := range pos {
			dst[i] = src[p>>shift][p&mask]
		}
	}
}

// fetchWide gathers values of several words; missing rows read as zeros.
func fetchWide(dst []uint64, src [][]uint64, words int, s *slot, n int) {
	for i := range n {
		to := dst[i*words : (i+1)*words]
		segment, row, ok := s.at(i)
		if !ok {
			clear(to)
			continue
		}
		from := int(row) * words
		copy(to, src[segment][from:from+words])
	}
}

// fetchTo gathers the n values of a slot into rows from `at` on of dst, a column of one
// segment and of the same width; missing rows read as zeros.
func fetchTo(dst *column, at, n int, c *column, s *slot) {
	switch c.width {
	case 1:
		fetch(dst.v8[0][at:at+n], c.v8, s, 0)
	case 2:
		fetch(dst.v16[0][at:at+n], c.v16, s, 0)
	case 4:
		fetch(dst.v32[0][at:at+n], c.v32, s, 0)
	case 8:
		fetch(dst.v64[0][at:at+n], c.v64, s, 0)
	default:
		words := c.width / 8
		fetchWide(dst.v64[0][at*words:(at+n)*words], c.v64, words, s, n)
	}
}

// fetchInts reads a column of width 1, 2, 4 or 8 as signed integers. For NULLs it
// writes unspecified values.
func (st *stream) fetchInts(dst []uint64, c *column, s *slot) {
	switch n := len(dst); c.width {
	case 1:
		widen[int8](dst, st.v8[:n], c.v8, s)
	case 2:
		widen[int16](dst, st.v16[:n], c.v16, s)
	case 4:
		widen[int32](dst, st.v32[:n], c.v32, s)
	default:
		fetch(dst, c.v64, s, 0)
	}
}

// widen gathers signed integers into v and extends them to 64 bits.
func widen[S signedWord, T word](dst []uint64, v []T, src [][]T, s *slot) {
	fetch(v, src, s, 0)
	for i, x := range view[S](v) {
		dst[i] = uint64(x)
	}
}

// fetchNulls sets null[i] if row i is NULL, and reports whether any row is.
func fetchNulls(null []uint8, c *column, s *slot) bool {
	if !c.nullable() && !s.null {
		return false
	}
	if s.pos == nil && c.flags == nil {
		return expandNulls(null, c.bits[s.segment()], int(s.first&s.space.mask()))
	}
	any := false
	for i := range null {
		segment, row, ok := s.at(i)
		if !ok || !c.valid(segment, row) {
			null[i] = 1
			any = true
		}
	}
	return any
}

// fetchValid sets valid[i] to 0 if row i is NULL, else to 1.
func fetchValid(valid []uint8, c *column, s *slot) {
	clear(valid)
	fetchNulls(valid, c, s)
	for i := range valid {
		valid[i] ^= 1
	}
}

// expandNulls sets null[i] where bit first+i of a validity bitmap is 0, and
// reports whether any is. A nil bitmap has no NULLs.
func expandNulls(null []uint8, bitmap []byte, first int) bool {
	if bitmap == nil {
		return false
	}
	var any uint8
	for i := range null {
		at := uint(first + i)
		bit := ^bitmap[at/8] >> (at % 8) & 1
		null[i] |= bit
		any |= bit
	}
	return any != 0
}
