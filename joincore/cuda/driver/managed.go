//go:build cuda

package driver

/*
#include <cuda.h>

static CUresult gj_managed(CUcontext context, size_t bytes, CUdeviceptr *at) {
  CUresult r = cuCtxSetCurrent(context);
  return r != CUDA_SUCCESS ? r : cuMemAllocManaged(at, bytes, CU_MEM_ATTACH_GLOBAL);
}

static CUresult gj_prefetch(CUcontext context, CUdeviceptr at, size_t bytes, CUdevice to, CUstream stream) {
  CUresult r = cuCtxSetCurrent(context);
  return r != CUDA_SUCCESS ? r : cuMemPrefetchAsync(at, bytes, to, stream);
}
*/
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Managed is memory whose pages the driver migrates to the side that accesses them. A
// process that has more of it than the device's free memory can hang the device.
type Managed struct {
	c  *Context
	at unsafe.Pointer // the same address for host and device
	n  int64
}

// Managed allocates n > 0 bytes of managed memory. Free releases them.
func (c *Context) Managed(n int64) (*Managed, error) {
	var at C.CUdeviceptr
	if err := failure("cuMemAllocManaged", int(C.gj_managed(contextHandle(c.ctx), C.size_t(n), &at))); err != nil {
		return nil, c.note(err)
	}
	return &Managed{c: c, at: *(*unsafe.Pointer)(unsafe.Pointer(&at)), n: n}, nil
}

// Bytes returns the memory for the host's use, while no stream uses it.
func (m *Managed) Bytes() []byte { return unsafe.Slice((*byte)(m.at), m.n) }

// DevicePointer returns the device's address of the memory.
func (m *Managed) DevicePointer() Ptr { return Ptr(uintptr(m.at)) }

// ToDevice queues the migration of the pages of the first n bytes to the device.
func (m *Managed) ToDevice(s *Stream, n int64) error {
	return m.prefetch(s, n, C.CUdevice(m.c.info.Ordinal))
}

// ToHost queues the migration of the pages of the first n bytes to the host.
func (m *Managed) ToHost(s *Stream, n int64) error { return m.prefetch(s, n, C.CU_DEVICE_CPU) }

func (m *Managed) prefetch(s *Stream, n int64, to C.CUdevice) error {
	return m.c.note(failure("cuMemPrefetchAsync", int(C.gj_prefetch(contextHandle(m.c.ctx), C.CUdeviceptr(uintptr(m.at)),
		C.size_t(n), to, streamHandle(s.stream)))))
}

// Free releases the memory, if m is not nil. No stream may use it any more.
func (m *Managed) Free() error {
	if m == nil {
		return nil
	}
	return m.c.with("cuMemFree", func() error { return cu.MemFree(cu.DevicePtr(uintptr(m.at))) })
}

// HostPageTables reports whether the device accesses pageable memory through the
// host's page tables, in hardware, without migration.
func (c *Context) HostPageTables() (bool, error) {
	return c.has(C.CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)
}

// ConcurrentManaged reports whether pages of managed memory migrate individually, as
// host and device access them.
func (c *Context) ConcurrentManaged() (bool, error) {
	return c.has(C.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)
}

// HostAddresses reports whether the device accesses page-locked memory at the host's
// addresses of it.
func (c *Context) HostAddresses() (bool, error) {
	return c.has(C.CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)
}

func (c *Context) has(a C.CUdevice_attribute) (bool, error) {
	v, err := c.device.Attribute(cu.DeviceAttribute(a))
	return v != 0, wrap("cuDeviceGetAttribute", err)
}
