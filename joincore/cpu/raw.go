//go:build amd64 || arm64

package cpu

import "unsafe"

// word is the storage of one value, or of each 8 bytes of a wider one.
type word interface {
	uint8 | uint16 | uint32 | uint64
}

// raw is what memory may be read as.
type raw interface {
	word | signedWord | entry | groupEntry
}

// signedWord is a signed integer of the width of a word.
type signedWord interface{ int8 | int16 | int32 | int64 }

// view reads memory as values of another type. The byte order is little-endian, as on
// all platforms that this package builds for. Bytes after the last whole value are
// left out. Only the slice's length bounds later accesses: v must be memory that its
// owner really holds.
func view[To, From raw](v []From) []To {
	var from From
	var to To
	n := len(v) * int(unsafe.Sizeof(from)) / int(unsafe.Sizeof(to))
	if n == 0 { // An empty slice may point at an address that is no multiple of To's size.
		return nil
	}
	return unsafe.Slice((*To)(unsafe.Pointer(unsafe.SliceData(v))), n)
}

// size returns the bytes of one T.
func size[T word]() int {
	var t T
	return int(unsafe.Sizeof(t))
}

// start identifies memory by its first byte.
func start[T word](v []T) *byte { return (*byte)(unsafe.Pointer(unsafe.SliceData(v))) }

// lineAligned reports whether memory begins at a cache line.
func lineAligned[T word](v []T) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(v)))%lineBytes == 0
}
