//go:build cuda

package driver

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Host is page-locked host memory of all devices.
type Host struct {
	c     *Context
	bytes []byte
}

// Pinned allocates n bytes of unspecified content.
func (c *Context) Pinned(n int64) (*Host, error) {
	p, err := pinned(c.ctx, max(n, 8))
	if err != nil {
		return nil, c.note(err)
	}
	return &Host{c: c, bytes: unsafe.Slice((*byte)(p), n)}, nil
}

// Bytes returns the memory.
func (h *Host) Bytes() []byte { return h.bytes }

// Size returns how many bytes there are.
func (h *Host) Size() int64 { return int64(len(h.bytes)) }

// Words returns the memory as numbers of 8 bytes.
func (h *Host) Words() []uint64 {
	return unsafe.Slice((*uint64)(h.pointer()), len(h.bytes)/8)
}

func (h *Host) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(h.bytes)) }

// Free gives the memory back, which no stream uses any more.
func (h *Host) Free() error {
	p := h.pointer()
	h.bytes = nil
	return h.c.with("cuMemFreeHost", func() error { return cu.MemFreeHost(p) })
}

// Registration is host memory of somebody else that has been page-locked.
type Registration struct {
	c      *Context
	bytes  []byte
	device Ptr
}

// Register page-locks memory that was mapped, never memory of the Go heap, for
// all devices, and maps it into their address space.
func (c *Context) Register(b []byte) (*Registration, error) {
	device, err := register(c.ctx, b)
	if err != nil {
		return nil, c.note(err)
	}
	return &Registration{c: c, bytes: b, device: device}, nil
}

// DevicePointer returns where the device sees the memory.
func (r *Registration) DevicePointer() Ptr { return r.device }

// Close unlocks the memory, which must still be mapped.
func (r *Registration) Close() error { return r.c.note(unregister(r.c.ctx, r.bytes)) }
