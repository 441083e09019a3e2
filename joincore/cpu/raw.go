//go:build amd64 || arm64

package cpu

import "unsafe"

// word is the storage of one value, or of each 8 bytes of a wider one.
type word interface {
	uint8 | uint16 | uint32 | uint64
}

// view reads memory as values of one width. The byte order is little-endian, as on
// all platforms that this package builds for. Bytes after the last whole value are
// left out. Only the slice's length bounds later accesses: b must be memory that its
// owner really holds.
func view[T word](b []byte) []T {
	n := len(b) / size[T]()
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// size returns the bytes of one T.
func size[T word]() int {
	var t T
	return int(unsafe.Sizeof(t))
}

// start identifies memory by its first byte.
func start[T word](v []T) *byte { return (*byte)(unsafe.Pointer(unsafe.SliceData(v))) }

// entriesOf reads memory as hash table entries.
func entriesOf(m []uint64) []entry {
	return unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(m))), len(m)*8/int(unsafe.Sizeof(entry{})))
}

// signedWord is a signed integer of the width of a word.
type signedWord interface{ int8 | int16 | int32 | int64 }

// signed reads unsigned integers as signed ones of the same width.
func signed[S signedWord, T word](v []T) []S {
	return unsafe.Slice((*S)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// unsigned reads signed integers as unsigned ones.
func unsigned(v []int64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// groupEntriesOf reads memory as entries of a table of groups.
func groupEntriesOf(m []byte) []groupEntry {
	return unsafe.Slice((*groupEntry)(unsafe.Pointer(unsafe.SliceData(m))), len(m)/entryBytes)
}

// bytesOf reads words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// lineAligned reports whether memory begins at a cache line.
func lineAligned[T word](v []T) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(v)))%lineBytes == 0
}
