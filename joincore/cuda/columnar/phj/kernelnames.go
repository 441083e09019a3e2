package phj

import "fmt"

// mostRead is the most words of a row, with the key, whose fields a first pass reads four rows
// at a time. That of wider ones copies columns to shared memory.
const mostRead = 5

// firstKernel returns the name of the kernel for the first pass of a side. aligned: its
// columns begin at multiples of 16 bytes.
func firstKernel(keyWords int, s shape, aligned bool) string {
	switch anywhere := s.form == fields && !aligned; {
	case packedFirst(keyWords, s), anywhere && keyInStripe(keyWords, s):
		return fmt.Sprintf("gj_pack_k%d", keyWords)
	case anywhere:
		return fmt.Sprintf("gj_unaligned_k%d_%s", keyWords, s)
	}
	return fmt.Sprintf("gj_first_k%d_%s", keyWords, s)
}

// keyInStripe reports whether a key lies in one stripe of a row buffer: Lanes in
// kernels/layout/row.cuh.
func keyInStripe(keyWords int, s shape) bool { return keyWords == 1 || s.words%2 == 0 }

// secondKernel returns the name of the kernel for the second pass of a side.
func secondKernel(keyWords int, s shape, m mode) string {
	switch {
	case m.positioned():
		return fmt.Sprintf("gj_place_k%d", keyWords)
	case s.form == beside:
		return fmt.Sprintf("gj_second_rest_w%d", keyWords+s.words)
	}
	return fmt.Sprintf("gj_second_k%d_w%d", keyWords, keyWords+s.words)
}

// packedFirst reports whether a side has the first pass of packed payload, wherever its
// columns begin.
func packedFirst(keyWords int, s shape) bool {
	return s.form == packed || s.form == fields && keyWords+s.words > mostRead
}

// canPlace reports whether the first pass leaves keys of keyWords in a stripe of their
// own next to payload of the given shape: Lanes in kernels/layout/row.cuh.
func canPlace(keyWords int, s shape) bool {
	if s.form != columns {
		return false
	}
	switch s.words {
	case 2:
		return keyWords == 1
	case 4:
		return true
	case 8:
		return keyWords == 1 || s.unit == 2
	}
	return false
}

// stripeOf returns the location of payload word q in a buffer for which canPlace holds:
// the byte offset of its first value and the bytes from one row to the next. words is
// the payload's width, capacity the buffer's rows.
func stripeOf(keyWords, words, q int, capacity uint64) (offset, stride uint64) {
	if words == 2 {
		return capacity*uint64(4*keyWords) + uint64(4*q), 8
	}
	return capacity*uint64(4*keyWords+16*(q/4)) + uint64(q%4*4), 16
}
