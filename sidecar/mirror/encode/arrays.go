package encode

import (
	"encoding/binary"
)

// elements are the OIDs of the array types of the types with an encoder, and of their elements.
var elements = map[uint32]uint32{
	1000: 16, 1001: 17, 1002: 18, 1003: 19, 1016: 20, 1005: 21, 1007: 23, 1009: 25, 1028: 26, 1010: 27, 1011: 28, 1012: 29,
	199: 114, 1017: 600, 1018: 601, 1020: 603, 629: 628, 651: 650, 1021: 700, 1022: 701, 719: 718, 775: 774, 791: 790, 1040: 829,
	1041: 869, 1014: 1042, 1015: 1043, 1182: 1082, 1183: 1083, 1115: 1114, 1185: 1184, 1187: 1186, 1270: 1266, 1561: 1560,
	1563: 1562, 1231: 1700, 2951: 2950, 3221: 3220, 271: 5069,
}

// newArray returns the encoder of arrays of a type.
func newArray(element uint32) (*Encoder, error) {
	d := types[element]
	a := &array{element, d}
	return variable(d.align, a.write), nil
}

// array writes arrays as array_recv does (utils/array.h).
type array struct {
	element uint32
	of      description
}

const mostDimensions = 6

func alignUp(n, to int) int { return (n + to - 1) / to * to }

// write writes the array behind the header. Positions in an array count from the header's
// begin, as if it had 4 bytes.
func (a *array) write(to, value []byte) ([]byte, error) {
	if len(value) < 12 {
		return to, malformed("an array", value)
	}
	dimensions := binary.BigEndian.Uint32(value)
	flags := binary.BigEndian.Uint32(value[4:])
	rest := value[12:]
	if dimensions > mostDimensions || flags > 1 || binary.BigEndian.Uint32(value[8:]) != a.element || len(rest) < 8*int(dimensions) {
		return to, malformed("an array", value)
	}
	sizes, count := rest[:8*dimensions], uint64(min(dimensions, 1))
	rest = rest[8*dimensions:]
	for i := range int(dimensions) {
		count *= uint64(binary.BigEndian.Uint32(sizes[8*i:]))
		if count > uint64(len(value)) { // each element has a length of 4 bytes
			return to, malformed("an array", value)
		}
	}
	if 4*count > uint64(len(rest)) {
		return to, malformed("an array", value)
	}
	if count == 0 {
		dimensions = 0
	}
	begin := len(to) - 4
	to = binary.LittleEndian.AppendUint32(to, dimensions)
	to = binary.LittleEndian.AppendUint32(to, 0) // where the elements begin, if some are NULL
	to = binary.LittleEndian.AppendUint32(to, a.element)
	for part := range 2 { // the lengths of all dimensions, then their lower bounds
		for i := range int(dimensions) {
			to = binary.LittleEndian.AppendUint32(to, binary.BigEndian.Uint32(sizes[8*i+4*part:]))
		}
	}
	return a.appendElements(to, begin, int(count), rest, value)
}

// appendElements writes the elements, and before them which are NULL, if any is.
func (a *array) appendElements(to []byte, begin, count int, rest, value []byte) ([]byte, error) {
	bitmap := len(to)
	if hasNull(rest, count) {
		to = append(to, make([]byte, (count+7)/8)...)
		to = pad(to, begin, 8)
		binary.LittleEndian.PutUint32(to[begin+8:], uint32(len(to)-begin))
	} else {
		to, bitmap = pad(to, begin, 8), -1
	}
	for i := range count {
		if len(rest) < 4 {
			return to, malformed("an array", value)
		}
		size := int32(binary.BigEndian.Uint32(rest))
		rest = rest[4:]
		if size == -1 {
			continue
		}
		if size < 0 || int(size) > len(rest) {
			return to, malformed("an array", value)
		}
		if bitmap >= 0 {
			to[bitmap+i/8] |= 1 << (i % 8)
		}
		var err error
		if to, err = a.appendElement(to, rest[:size]); err != nil {
			return to, err
		}
		to = pad(to, begin, a.of.align)
		rest = rest[size:]
	}
	if len(rest) > 0 {
		return to, malformed("an array", value)
	}
	return to, nil
}

// appendElement writes an element; one of variable length has a header of 4 bytes.
func (a *array) appendElement(to, value []byte) ([]byte, error) {
	if a.of.length > 0 {
		return a.of.write(to, value)
	}
	at := len(to)
	to = append(to, 0, 0, 0, 0)
	if a.of.write == nil {
		to = append(to, value...)
	} else {
		var err error
		if to, err = a.of.write(to, value); err != nil {
			return to, err
		}
	}
	binary.LittleEndian.PutUint32(to[at:], uint32(len(to)-at)<<2)
	return to, nil
}

// hasNull reports whether one of the first elements is NULL. It stops where they are malformed.
func hasNull(rest []byte, count int) bool {
	for range count {
		if len(rest) < 4 {
			return false
		}
		size := int32(binary.BigEndian.Uint32(rest))
		if size == -1 {
			return true
		}
		if size < 0 || int(size) > len(rest)-4 {
			return false
		}
		rest = rest[4+size:]
	}
	return false
}

// pad appends zeros up to a multiple of an alignment, counted from a byte on.
func pad(to []byte, begin, align int) []byte {
	for n := alignUp(len(to)-begin, align) - (len(to) - begin); n > 0; n-- {
		to = append(to, 0)
	}
	return to
}
