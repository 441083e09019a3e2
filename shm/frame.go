package shm

import (
	"errors"
	"fmt"
)

// Errors of a frame header, in the order of the checks.
var (
	ErrFrameMagic    = errors.New("not a frame")
	ErrFrameReserved = errors.New("reserved bytes of a frame are not zero")
	ErrFrameType     = errors.New("unknown message")
	ErrFrameLength   = errors.New("message has the wrong length")
	ErrFrameFDs      = errors.New("message has the wrong number of file descriptors")
)

// Frame is gj_frame, the header before every body on the socket. The message's file
// descriptors travel with its first byte.
type Frame struct {
	Magic    uint32  `c:"magic"`
	Length   uint32  `c:"length"`
	Type     Message `c:"type"`
	NFDs     uint16  `c:"nfds"`
	Reserved uint32  `c:"reserved"`
}

// FrameSize is the size of a frame header in bytes.
const FrameSize = 16

// Check returns an error unless f can be the header of a message. Callers check before
// they allocate Length bytes.
func (f *Frame) Check() error {
	if f.Magic != FrameMagic {
		return fmt.Errorf("%w: magic %#x", ErrFrameMagic, f.Magic)
	}
	if f.Reserved != 0 {
		return ErrFrameReserved
	}
	s, ok := shapes[f.Type]
	if !ok {
		return fmt.Errorf("%w: type %d", ErrFrameType, uint16(f.Type))
	}
	if int64(f.Length) < int64(s.min) || int64(f.Length) > int64(s.max) {
		return fmt.Errorf("%w: %s with %d bytes", ErrFrameLength, s.name, f.Length)
	}
	if int(f.NFDs) > s.fds {
		return fmt.Errorf("%w: %s with %d", ErrFrameFDs, s.name, f.NFDs)
	}
	return nil
}

// ParseFrame decodes and checks a header.
func ParseFrame(b []byte) (Frame, error) {
	f, _, err := DecodePrefix[Frame](b)
	if err != nil {
		return f, err
	}
	return f, f.Check()
}

// BeginFrame appends a header, whose length FinishFrame sets.
func BeginFrame(dst []byte, m Message, nfds int) []byte {
	return Append(dst, &Frame{Magic: FrameMagic, Type: m, NFDs: uint16(nfds)})
}

// FinishFrame sets the length of the frame that extends from offset start to the end of
// b.
func FinishFrame(b []byte, start int) {
	n := uint32(len(b) - start - FrameSize)
	b[start+4], b[start+5], b[start+6], b[start+7] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
}

// AppendFrame appends a whole message of type m with body v.
func AppendFrame[T Struct](dst []byte, m Message, nfds int, v *T) []byte {
	start := len(dst)
	dst = Append(BeginFrame(dst, m, nfds), v)
	FinishFrame(dst, start)
	return dst
}

// AppendEmpty appends a message without body.
func AppendEmpty(dst []byte, m Message) []byte { return BeginFrame(dst, m, 0) }
