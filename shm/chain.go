package shm

import (
	"errors"
	"fmt"
)

// ChainRef is gj_chain_ref: a batch has it in place of a value that is stored in a
// chain of extents.
type ChainRef struct {
	Header   uint8  `c:"header"` // ChainRefByte
	Tag      uint8  `c:"tag"`    // ChainRefTag
	Reserved uint16 `c:"reserved"`
	Offset   uint32 `c:"offset"` // of the value's start, in the data of that extent
	Chain    uint64 `c:"chain"`  // the extent of the value's start: participant << 32 | number
	Length   uint64 `c:"length"` // bytes of the value, header included
}

// ChainHeader is gj_chain_header, at offset 0 of an extent of a chain; the
// data follow at ChainDataOff.
type ChainHeader struct {
	Magic     uint32 `c:"magic"`
	Version   uint16 `c:"version"`
	Reserved  uint16 `c:"reserved"`
	Chain     uint64 `c:"chain"` // participant << 32 | number
	Bytes     uint32 `c:"bytes"` // of data
	Reserved2 uint32 `c:"reserved2"`
}

// Errors of an extent of a chain, in the order of the checks.
var (
	ErrChainMagic   = errors.New("extent does not belong to a chain")
	ErrChainVersion = errors.New("chain extent has a different layout version")
	ErrChainSize    = errors.New("data of a chain exceed their extent")
)

// ChainExtentName returns the name of an extent of a participant's chain.
func ChainExtentName(participant int32, number uint32) uint64 {
	return uint64(uint32(participant))<<32 | uint64(number)
}

// ChainParticipant returns the participant to whose chain an extent belongs.
func ChainParticipant(chain uint64) int32 { return int32(chain >> 32) }

// ReadChainExtent returns a checked copy of the header of a chain's extent, and the
// extent's data.
func ReadChainExtent(extent []byte) (ChainHeader, []byte, error) {
	h, _, err := DecodePrefix[ChainHeader](extent)
	switch {
	case err != nil:
		return h, nil, err
	case h.Magic != ChainMagic:
		return h, nil, fmt.Errorf("%w: magic %#x", ErrChainMagic, h.Magic)
	case h.Version != LayoutVersion || h.Reserved != 0 || h.Reserved2 != 0:
		return h, nil, fmt.Errorf("%w: %d", ErrChainVersion, h.Version)
	case h.Bytes == 0 || int64(h.Bytes) > int64(len(extent))-ChainDataOff:
		return h, nil, fmt.Errorf("%w: %d bytes", ErrChainSize, h.Bytes)
	}
	end := ChainDataOff + int(h.Bytes)
	return h, extent[ChainDataOff:end:end], nil
}
