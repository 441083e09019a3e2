package shm

import (
	"errors"
	"fmt"
)

// ChainRef is gj_chain_ref: it stands in a batch in place of a value that is
// split over extents of its own.
type ChainRef struct {
	Header   uint8  `c:"header"` // ChainRefByte
	Tag      uint8  `c:"tag"`    // ChainRefTag
	Reserved uint16 `c:"reserved"`
	Parts    uint32 `c:"parts"`
	Chain    uint64 `c:"chain"`  // participant << 32 | number
	Length   uint64 `c:"length"` // bytes of the value, header included
}

// ChainPart is gj_chain_part, at offset 0 of an extent; the bytes follow at
// ChainDataOff.
type ChainPart struct {
	Magic    uint32 `c:"magic"`
	Version  uint16 `c:"version"`
	Reserved uint16 `c:"reserved"`
	Chain    uint64 `c:"chain"`
	Part     uint32 `c:"part"`
	Bytes    uint32 `c:"bytes"`
}

// Errors of a part of a chained value, in the order in which it is checked.
var (
	ErrChainMagic   = errors.New("extent does not hold a part of a value")
	ErrChainVersion = errors.New("part of a value of another layout version")
	ErrChainSize    = errors.New("part of a value does not fit its extent")
)

// ReadChainPart returns a checked copy of the header of a part, and its bytes.
func ReadChainPart(extent []byte) (ChainPart, []byte, error) {
	p, _, err := DecodePrefix[ChainPart](extent)
	switch {
	case err != nil:
		return p, nil, err
	case p.Magic != ChainMagic:
		return p, nil, fmt.Errorf("%w: magic %#x", ErrChainMagic, p.Magic)
	case p.Version != LayoutVersion || p.Reserved != 0:
		return p, nil, fmt.Errorf("%w: %d", ErrChainVersion, p.Version)
	case p.Bytes == 0 || int64(p.Bytes) > int64(len(extent))-ChainDataOff:
		return p, nil, fmt.Errorf("%w: %d bytes", ErrChainSize, p.Bytes)
	}
	end := ChainDataOff + int(p.Bytes)
	return p, extent[ChainDataOff:end:end], nil
}
