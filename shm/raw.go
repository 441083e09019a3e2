//go:build amd64 || arm64 || riscv64 || loong64 || ppc64le

package shm

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Errors of decoding a body.
var (
	ErrShort    = errors.New("message too short")
	ErrTrailing = errors.New("bytes after the message")
)

// Struct is any structure of layout.h: fields of fixed size, no pointers, no implicit
// padding. The layout test enforces this for all of them.
type Struct interface {
	Frame | Hello | Open | Attach | Want | Filled | ChainFilled | Fed | Run |
		Next | Release | ChainGet | Returned | Welcome | Admitted | Failed |
		Grant | Result | ChainExtent | Stats | JoinStats | PhaseStats | AggregateStats | FilterStats | ParticipantStats |
		InputFed | FilterGet | Filtered | Filter |
		Pages | Group | KeptGet | Kept | KeptLeaf | BlocksGet | Blocks | Proved | Captured | CapturedBlock | Forget | Forgotten | SourceGet | Source |
		KeptHeader | KeptColumn |
		Column | Batch | ChainRef | ChainHeader | FilterHeader | Load | Status
}

// Sizeof returns the size of T on the wire in bytes.
func Sizeof[T Struct]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// DecodePrefix copies a T from the start of b and returns the rest of b.
func DecodePrefix[T Struct](b []byte) (v T, rest []byte, err error) {
	n := int(unsafe.Sizeof(v))
	if len(b) < n {
		return v, nil, fmt.Errorf("%w: %d of %d bytes", ErrShort, len(b), n)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), n), b)
	return v, b[n:len(b):len(b)], nil
}

// Decode copies a T from b, which must hold nothing else.
func Decode[T Struct](b []byte) (T, error) {
	v, rest, err := DecodePrefix[T](b)
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("%w: %d", ErrTrailing, len(rest))
	}
	return v, err
}

// Append appends the bytes of v to dst.
func Append[T Struct](dst []byte, v *T) []byte {
	return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(v)), int(unsafe.Sizeof(*v)))...)
}

// mapPages maps n bytes of fd, or of anonymous memory. Parts of the mapping can be unmapped
// by themselves.
func mapPages(fd, n, protection, flags int) ([]byte, error) {
	p, err := unix.MmapPtr(fd, 0, nil, uintptr(n), protection, flags)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// Unmap removes a mapping, which must not be used afterwards.
func Unmap(mapping []byte) error {
	if len(mapping) == 0 {
		return unix.EINVAL
	}
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(mapping)), uintptr(len(mapping)))
}

// mapAt maps fd over `to`, which is part of a mapping of the caller.
func mapAt(to []byte, fd, flags int) error {
	_, err := unix.MmapPtr(fd, 0, unsafe.Pointer(unsafe.SliceData(to)), uintptr(len(to)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED|flags)
	return err
}

// Address returns the address of b in this process.
func Address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// misalignment returns the distance from the last multiple of n to the start of b.
func misalignment(b []byte, n uintptr) uintptr {
	return Address(b) % n
}
