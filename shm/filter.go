package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// FilterKind is the form of a filter of keys.
type FilterKind uint16

const (
	// FilterNone: there is no filter, all rows are fed.
	FilterNone FilterKind = iota
	// FilterBitmap: one bit for each integer from the least to the greatest key.
	FilterBitmap
	// FilterBloom: a blocked Bloom filter; keys that are not in the source may pass.
	FilterBloom
	// FilterBloomBytes: a blocked Bloom filter of hashes (HashBytes) of keys.
	FilterBloomBytes
)

// FilterHeader is gj_filter_header, at offset 0 of an extent with a filter; the
// data follow at FilterDataOff.
type FilterHeader struct {
	Magic    uint32 `c:"magic"`
	Version  uint16 `c:"version"`
	Kind     uint16 `c:"kind"`  // a FilterKind, not FilterNone
	Bytes    uint32 `c:"bytes"` // of data, a multiple of 8; 0: no keys
	Reserved uint32 `c:"reserved"`
	Keys     uint64 `c:"keys"` // rows of the source with a key; 0: no row passes
	Min      int64  `c:"min"`
	Max      int64  `c:"max"`
	Seed     uint64 `c:"seed"` // of a Bloom filter
}

// InputFed is gj_input_fed: the participant has fed all its rows of a filter's
// source.
type InputFed struct {
	Input    uint32 `c:"input"`
	Reserved uint32 `c:"reserved"`
}

// FilterGet is gj_filter_get: send a filter when it exists.
type FilterGet struct {
	Filter   uint32 `c:"filter"`
	Reserved uint32 `c:"reserved"`
}

// Filtered is gj_filtered: the effect of a filter on a participant's feed.
type Filtered struct {
	Filter   uint32 `c:"filter"`
	Reserved uint32 `c:"reserved"`
	Tested   uint64 `c:"tested"`
	Dropped  uint64 `c:"dropped"` // part of Tested: not fed
}

// Filter is gj_filter, the answer to FilterGet, with one file descriptor unless
// Kind is FilterNone.
type Filter struct {
	Extent uint64 `c:"extent"`
	Filter uint32 `c:"filter"`
	Kind   uint32 `c:"kind"` // equals FilterHeader.Kind
}

// Errors of an extent with a filter, in the order of the checks.
var (
	ErrFilterMagic   = errors.New("extent does not hold a filter")
	ErrFilterVersion = errors.New("filter has a different layout version")
	ErrFilterKind    = errors.New("unknown kind of filter")
	ErrFilterSize    = errors.New("size of a filter does not match its keys or its extent")
)

// FilterView is a filter whose header has been copied and checked.
type FilterView struct {
	Header FilterHeader
	Data   []byte // Header.Bytes
}

// ReadFilter checks the filter in extent. A peer that still writes to the extent
// can change only which keys pass.
func ReadFilter(extent []byte) (*FilterView, error) {
	h, _, err := DecodePrefix[FilterHeader](extent)
	switch {
	case err != nil:
		return nil, err
	case h.Magic != FilterMagic:
		return nil, fmt.Errorf("%w: magic %#x", ErrFilterMagic, h.Magic)
	case h.Version != LayoutVersion || h.Reserved != 0:
		return nil, fmt.Errorf("%w: %d", ErrFilterVersion, h.Version)
	case FilterKind(h.Kind) < FilterBitmap || FilterKind(h.Kind) > FilterBloomBytes:
		return nil, fmt.Errorf("%w: %d", ErrFilterKind, h.Kind)
	case h.Bytes%8 != 0 || int64(h.Bytes) > int64(len(extent))-FilterDataOff || h.Min > h.Max || (h.Bytes == 0) != (h.Keys == 0):
		return nil, fmt.Errorf("%w: %d bytes for %d keys", ErrFilterSize, h.Bytes, h.Keys)
	case FilterKind(h.Kind) == FilterBitmap && h.Keys > 0 && uint64(h.Max)-uint64(h.Min) >= uint64(h.Bytes)*8:
		return nil, fmt.Errorf("%w: %d bytes from %d to %d", ErrFilterSize, h.Bytes, h.Min, h.Max)
	}
	end := FilterDataOff + int(h.Bytes)
	return &FilterView{h, extent[FilterDataOff:end:end]}, nil
}

// Test reports whether the source may have the key, which is a hash of its bytes
// if the filter is one of FilterBloomBytes. It is never false for a key that the
// source has.
func (f *FilterView) Test(key int64) bool {
	h := &f.Header
	if h.Keys == 0 || key < h.Min || key > h.Max {
		return false
	}
	if FilterKind(h.Kind) == FilterBitmap {
		at := uint64(key) - uint64(h.Min)
		return f.Data[at/8]>>(at%8)&1 != 0
	}
	block, bits := BloomPlace(key, h.Seed, uint64(len(f.Data)/8))
	return binary.LittleEndian.Uint64(f.Data[8*block:])&bits == bits
}

// BloomPlace returns the block of a key in a Bloom filter of n blocks of 8 bytes,
// 0 < n < 2^32, and the key's bits in it.
func BloomPlace(key int64, seed, n uint64) (block, bits uint64) {
	h := (uint64(key) ^ seed) * hash1
	h ^= h >> 32
	h *= hash2
	h ^= h >> 32
	for i := range BloomBits {
		bits |= 1 << (h >> (6 * i) & 63)
	}
	return (h >> 32) * n >> 32, bits
}

// HashBytes returns the key of a value that is no integer of at most 8 bytes. It
// need not resist an adversary: a collision only lets a row pass.
func HashBytes(b []byte) int64 {
	n := len(b)
	h := uint64(n) * hash1
	if n < 8 {
		return int64(hashWord(h, shortWord(b)))
	}
	for at := 0; at+8 <= n; at += 8 {
		h = hashWord(h, binary.LittleEndian.Uint64(b[at:]))
	}
	if n%8 != 0 {
		h = hashWord(h, binary.LittleEndian.Uint64(b[n-8:]))
	}
	return int64(h)
}

func hashWord(h, w uint64) uint64 {
	h = (h ^ w) * hash2
	return h ^ h>>32
}

// shortWord returns less than 8 bytes as a word.
func shortWord(b []byte) (w uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		w = w<<8 | uint64(b[i])
	}
	return w
}
