package joincore

import "encoding/binary"

// mostShort is the longest payload, in bytes, whose header has one byte.
const mostShort = 126

// headerSize returns the bytes of the header of a payload of n bytes.
func headerSize(n int) int {
	if n <= mostShort {
		return 1
	}
	return 4
}

// TextSize returns the bytes of a value of variable length whose payload has n bytes, with
// its header and padding to a multiple of align.
func TextSize(n, align int) int { return (headerSize(n) + n + align - 1) / align * align }

// PutText writes a value of variable length to all of `to`, which has TextSize bytes. Its
// header is that of the values that backends feed: of one byte wherever that is enough. So
// values with equal payloads have equal bytes, and KeyVarlena finds them equal, whether a
// backend fed them or the join core made them.
func PutText(to, payload []byte) {
	size := headerSize(len(payload))
	if size == 1 {
		to[0] = byte(1+len(payload))<<1 | 1
	} else {
		binary.LittleEndian.PutUint32(to, uint32(4+len(payload))<<2)
	}
	clear(to[size+copy(to[size:], payload):])
}
