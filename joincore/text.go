package joincore

import (
	"encoding/binary"
	"fmt"
)

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

// Errors of values of variable length.
var (
	ErrChained    = fmt.Errorf("a value is too long for a batch: %w", ErrUnsupported)
	errTextHeader = fmt.Errorf("the header of a value contradicts its length: %w", ErrInvalid)
)

// TextPayload returns the payload of a value of variable length. The error wraps
// ErrChained if the value is a reference into a chain of extents, or ErrInvalid. A peer
// may change the value meanwhile: each byte of the header is read once.
func TextPayload(value []byte) ([]byte, error) {
	if len(value) == 0 {
		return nil, errTextHeader
	}
	first := value[0]
	header, total := 1, int(first>>1)
	switch {
	case first == 1:
		return nil, ErrChained
	case first&1 == 0:
		if first&2 != 0 || len(value) < 4 {
			return nil, errTextHeader
		}
		header = 4
		total = int((uint32(first) | uint32(value[1])<<8 | uint32(value[2])<<16 | uint32(value[3])<<24) >> 2)
	}
	if total < header || total > len(value) {
		return nil, errTextHeader
	}
	return value[header:total:total], nil
}
