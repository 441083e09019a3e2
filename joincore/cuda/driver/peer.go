//go:build cuda

package driver

import (
	"fmt"
	"slices"

	"gpujoin/joincore"
)

// Device returns the number of the device that a stream works on.
func (s *Stream) Device() int { return s.c.info.Ordinal }

// Device returns the number of the device whose streams record the event. Streams of
// every device can wait for it.
func (e *Event) Device() int { return e.c.info.Ordinal }

// Reaches reports whether kernels of this device can access memory of another one, or
// its own.
func (c *Context) Reaches(other *Context) (bool, error) {
	if c.info.Ordinal == other.info.Ordinal {
		return true, nil
	}
	return reaches(c.info.Ordinal, other.info.Ordinal)
}

// Reaches reports whether kernels and copies of a device can access memory of another one.
func Reaches(device, other int) (bool, error) { return reaches(device, other) }

// withPeers returns the numbers of the device and of the peers that share its memory,
// or ErrUnsupported if one cannot access it.
func (c *Context) withPeers(peers []*Context) ([]int, error) {
	devices := []int{c.info.Ordinal}
	for _, p := range peers {
		if slices.Contains(devices, p.info.Ordinal) {
			continue
		}
		ok, err := p.Reaches(c)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("device %d does not reach memory of device %d: %w", p.info.Ordinal, c.info.Ordinal, joincore.ErrUnsupported)
		}
		devices = append(devices, p.info.Ordinal)
	}
	return devices, nil
}

// Revoke takes a peer's access to the memory of an arena that NewArena made. Work of the peer
// that accesses it afterwards fails, and the peer's context is lost. It is for tests of what
// follows when devices lose access to each other.
func (a *Arena) Revoke(peer *Context) error {
	return a.c.note(revoke(a.c.ctx, a.m, peer.info.Ordinal))
}
