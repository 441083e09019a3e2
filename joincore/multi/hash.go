package multi

import (
	"encoding/binary"

	"gpujoin/joincore"
)

// keyColumn is a column of a key.
type keyColumn struct {
	ref   joincore.ColumnRef
	class joincore.KeyClass
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

// payload returns a value without its header: equal values may have different headers.
// A value that has none, or a wrong one, has no payload.
func payload(value []byte) []byte {
	p, err := joincore.TextPayload(value)
	if err != nil {
		return nil
	}
	return p
}

// nullWord stands for NULL in a hash. A value may have the same hash.
const nullWord = 0xC2B2AE3D27D4EB4F

// hashColumn adds a column of rows [first, first+len(hashes)) of a segment to their hashes.
// Rows in which it is NULL are marked in nulls, if that is not nil; otherwise NULLs are
// equal values.
func hashColumn(v *joincore.Vector, c joincore.Column, integers bool, first int, hashes []uint64, nulls []bool) {
	for i := range hashes {
		row := first + i
		switch {
		case v.Null(row):
			if nulls != nil {
				nulls[i] = true
			}
			hashes[i] = joincore.HashWord(hashes[i], nullWord)
		case c.Kind == joincore.Varlena:
			hashes[i] = joincore.HashBytes(hashes[i], payload(v.Variable(row)))
		case integers:
			hashes[i] = joincore.HashWord(hashes[i], integer(v.Values, c.Width, row))
		default:
			hashes[i] = joincore.HashBytes(hashes[i], v.Values[c.Width*row:c.Width*(row+1)])
		}
	}
}
