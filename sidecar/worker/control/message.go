package control

import (
	"encoding/binary"
	"errors"
	"fmt"

	"gpujoin/shm"
)

// ErrMessage reports a packet that no correct daemon sends.
var ErrMessage = errors.New("malformed handover")

// MaxExtents is the maximum number of extents in one packet.
const MaxExtents = shm.FrameMaxFDs

// Kind is the type of a packet.
type Kind uint16

const (
	Give Kind = iota + 1 // extents, with a descriptor each
	Drop                 // extents that the daemon has dropped
)

// Message is one packet: a header of 16 bytes, and 8 bytes an extent, all
// little-endian.
//
//	offset  bytes
//	0       4      "gjho"
//	4       2      kind
//	6       2      number of extents
//	8       8      bytes of each extent
//	16      8 each extent
type Message struct {
	Kind    Kind
	Size    int64
	Extents []uint64
	FDs     []int // Give: one per extent; the receiver must close them
}

const (
	magic      = "gjho"
	headerSize = 16
	maxPacket  = headerSize + 8*MaxExtents
)

func (m *Message) encode() []byte {
	b := append(make([]byte, 0, maxPacket), magic...)
	b = binary.LittleEndian.AppendUint16(b, uint16(m.Kind))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(m.Extents)))
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Size))
	for _, id := range m.Extents {
		b = binary.LittleEndian.AppendUint64(b, id)
	}
	return b
}

// decode parses a packet that arrived with fds.
func decode(b []byte, fds []int) (*Message, error) {
	if len(b) < headerSize || string(b[:4]) != magic {
		return nil, fmt.Errorf("%w: %d bytes", ErrMessage, len(b))
	}
	m := &Message{Kind: Kind(binary.LittleEndian.Uint16(b[4:])), FDs: fds}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	size := binary.LittleEndian.Uint64(b[8:])
	if n < 1 || n > MaxExtents || len(b) != headerSize+8*n {
		return nil, fmt.Errorf("%w: %d extents in %d bytes", ErrMessage, n, len(b))
	}
	if want := map[Kind]int{Give: n, Drop: 0}; m.Kind < Give || m.Kind > Drop || len(fds) != want[m.Kind] {
		return nil, fmt.Errorf("%w: kind %d with %d descriptors", ErrMessage, m.Kind, len(fds))
	}
	if size > shm.ExtentMaxSize {
		return nil, fmt.Errorf("%w: extents of %d bytes", ErrMessage, size)
	}
	m.Size = int64(size)
	for i := range n {
		m.Extents = append(m.Extents, binary.LittleEndian.Uint64(b[headerSize+8*i:]))
	}
	return m, nil
}
