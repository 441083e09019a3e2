package multi

import (
	"encoding/binary"
	"math/bits"

	"gpujoin/joincore"
)

// keyColumn is a column of a key.
type keyColumn struct {
	ref   joincore.ColumnRef
	class joincore.KeyClass
}

// Odd constants of the hash: the golden ratio's fraction, and xxHash's second prime.
const (
	goldenRatio = 0x9E3779B97F4A7C15
	prime       = 0xC2B2AE3D27D4EB4F
)

// mix adds a word to a hash.
func mix(h, x uint64) uint64 {
	high, low := bits.Mul64(h^x^prime, goldenRatio)
	return high ^ low
}

// mixBytes adds bytes to a hash.
func mixBytes(h uint64, b []byte) uint64 {
	h = mix(h, uint64(len(b)))
	for ; len(b) >= 8; b = b[8:] {
		h = mix(h, binary.LittleEndian.Uint64(b))
	}
	var last [8]byte
	copy(last[:], b)
	return mix(h, binary.LittleEndian.Uint64(last[:]))
}

// integer reads a signed integer of 1, 2, 4 or 8 bytes.
func integer(values []byte, width, row int) uint64 {
	switch width {
	case 1:
		return uint64(int64(int8(values[row])))
	case 2:
		return uint64(int64(int16(binary.LittleEndian.Uint16(values[2*row:]))))
	case 4:
		return uint64(int64(int32(binary.LittleEndian.Uint32(values[4*row:]))))
	}
	return binary.LittleEndian.Uint64(values[8*row:])
}

// null reports whether a value is NULL.
func null(v *joincore.Vector, row int) bool {
	return v.Validity != nil && v.Validity[row/8]>>(row%8)&1 == 0
}

// span returns the heap bytes of a value of variable length: none where the offsets
// decrease, and what exists where they point behind the heap. The offsets are read
// once, because a peer may change them meanwhile.
func span(v *joincore.Vector, row int) []byte {
	low := int(binary.LittleEndian.Uint32(v.Values[4*row:]))
	high := int(binary.LittleEndian.Uint32(v.Values[4*row+4:]))
	if high <= low {
		return nil
	}
	return within(v.Heap, low, high)
}

// payload returns a value without its header. Equal values may have different headers.
func payload(value []byte) []byte {
	header, length := 4, 0
	switch {
	case len(value) == 0:
		return nil
	case value[0]&1 == 1:
		header, length = 1, int(value[0]>>1)
	case len(value) < 4:
		return value
	default:
		length = int(binary.LittleEndian.Uint32(value) >> 2)
	}
	return within(value, header, max(length, header))
}

// hashColumn adds a column of rows [first, first+len(hashes)) of a segment to their hashes.
// Rows in which it is NULL are marked in nulls, if that is not nil; otherwise NULLs are
// equal values.
func hashColumn(v *joincore.Vector, c joincore.Column, integers bool, first int, hashes []uint64, nulls []bool) {
	for i := range hashes {
		row := first + i
		switch {
		case null(v, row):
			if nulls != nil {
				nulls[i] = true
			}
			hashes[i] = mix(hashes[i], prime)
		case c.Kind == joincore.Varlena:
			hashes[i] = mixBytes(hashes[i], payload(span(v, row)))
		case integers:
			hashes[i] = mix(hashes[i], integer(v.Values, c.Width, row))
		default:
			hashes[i] = mixBytes(hashes[i], v.Values[c.Width*row:c.Width*(row+1)])
		}
	}
}
