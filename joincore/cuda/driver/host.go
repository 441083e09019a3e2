//go:build cuda

package driver

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Host is page-locked host memory, usable by all devices.
type Host struct {
	c     *Context
	bytes []byte
}

// Pinned allocates n bytes of unspecified content, of the NUMA node that the device is
// attached to where the system allows that. Free releases them.
func (c *Context) Pinned(n int64) (*Host, error) {
	p, err := pinned(c.ctx, max(n, 8), c.node)
	if err != nil {
		return nil, c.note(err)
	}
	return &Host{c: c, bytes: unsafe.Slice((*byte)(p), n)}, nil
}

// Bytes returns the memory.
func (h *Host) Bytes() []byte { return h.bytes }

// Size returns the number of bytes.
func (h *Host) Size() int64 { return int64(len(h.bytes)) }

// Words returns the memory as 8-byte numbers.
func (h *Host) Words() []uint64 {
	return unsafe.Slice((*uint64)(h.pointer()), len(h.bytes)/8)
}

// DevicePointer returns the address of the memory on all devices, which is that on the
// host: they have one address space.
func (h *Host) DevicePointer() Ptr { return Ptr(uintptr(h.pointer())) }

func (h *Host) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(h.bytes)) }

// Free releases the memory, if h is not nil. No stream may use it any more.
func (h *Host) Free() error {
	if h == nil {
		return nil
	}
	p := h.pointer()
	h.bytes = nil
	return h.c.with("cuMemFreeHost", func() error { return cu.MemFreeHost(p) })
}

// Registration is memory of another owner that has been page-locked.
type Registration struct {
	c      *Context
	bytes  []byte
	device Ptr
}

// Register page-locks mapped memory for all devices and maps it into their address
// space. The memory must not be of the Go heap.
func (c *Context) Register(b []byte) (*Registration, error) {
	device, err := register(c.ctx, b)
	if err != nil {
		return nil, c.note(err)
	}
	return &Registration{c: c, bytes: b, device: device}, nil
}

// DevicePointer returns the device's address of the memory.
func (r *Registration) DevicePointer() Ptr { return r.device }

// Close unlocks the memory, which must still be mapped.
func (r *Registration) Close() error { return r.c.note(unregister(r.c.ctx, r.bytes)) }
