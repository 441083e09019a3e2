//go:build cuda

package driver

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gorgonia.org/cu"
)

// Context is the primary context of a device, shared by all who open it. It is safe
// for concurrent use.
type Context struct {
	info   Info
	device cu.Device
	ctx    cu.CUContext
	node   int // NUMA node of the device; -1: any
	waiter *waiter
	lost   atomic.Pointer[Error]
	seed   atomic.Uint64 // of the hash of keys

	mu    sync.Mutex
	owned []func() error // that Close calls, the last first
}

// Open retains a device's primary context. Close releases it.
func Open(ordinal int) (*Context, error) {
	info, err := describe(ordinal)
	if err != nil {
		return nil, err
	}
	c := &Context{info: info, device: cu.Device(ordinal), node: nearestNode("/sys", info.PCI)}
	if c.ctx, err = c.device.RetainPrimaryCtx(); err != nil {
		return nil, wrap("cuDevicePrimaryCtxRetain", err)
	}
	c.waiter = newWaiter(c)
	c.seed.Store(processSeed)
	return c, nil
}

// processSeed is one for all devices, because they exchange rows partitioned by hash.
var processSeed = rand.Uint64()

// HashSeed returns the hash seed for the keys in modules loaded from now on.
func (c *Context) HashSeed() uint64 { return c.seed.Load() }

// SetHashSeed sets the seed of modules loaded from now on, for tests. All modules that
// work on one join must have the same seed.
func (c *Context) SetHashSeed(seed uint64) { c.seed.Store(seed) }

// Info describes the device.
func (c *Context) Info() Info { return c.info }

// FreeMemory returns the device's free memory in bytes.
func (c *Context) FreeMemory() (free int64, err error) {
	err = c.with("cuMemGetInfo", func() (err error) {
		free, _, err = cu.MemInfo()
		return err
	})
	return free, err
}

// Lost returns the error by which the context was lost, or nil.
func (c *Context) Lost() error {
	if e := c.lost.Load(); e != nil {
		return e
	}
	return nil
}

// Close releases the context and what PerContext has made for it. Everything else created
// from it must be closed before.
func (c *Context) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, release := range slices.Backward(c.owned) {
		errs = append(errs, release())
	}
	c.waiter.stop()
	return errors.Join(append(errs, wrap("cuDevicePrimaryCtxRelease", c.device.ReleasePrimaryCtx()))...)
}

// PerContext has one T for each context, made on first use, such as the module of an
// algorithm. It is safe for concurrent use.
type PerContext[T any] struct {
	// Make makes a context's value. An error is returned and not remembered.
	Make func(*Context) (T, error)
	// Release frees a value when its context is closed.
	Release func(T) error

	mu   sync.Mutex
	made map[*Context]T
}

// Get returns the value of a context, which must be open.
func (p *PerContext[T]) Get(c *Context) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.made[c]; ok {
		return v, nil
	}
	v, err := p.Make(c)
	if err != nil {
		return v, err
	}
	if p.made == nil {
		p.made = map[*Context]T{}
	}
	p.made[c] = v
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owned = append(c.owned, func() error {
		p.mu.Lock()
		delete(p.made, c)
		p.mu.Unlock()
		return p.Release(v)
	})
	return v, nil
}

// with calls f with the context current. call names the driver function for errors.
func (c *Context) with(call string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(c.ctx); err != nil {
		return c.note(wrap("cuCtxSetCurrent", err))
	}
	return c.note(wrap(call, f()))
}

// note remembers the error by which the context was lost.
func (c *Context) note(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Sticky() {
		c.lost.CompareAndSwap(nil, e)
	}
	return err
}

// Info describes a device.
type Info struct {
	Ordinal        int
	Name, UUID     string
	Major, Minor   int   // compute capability
	SMs            int   // multiprocessors
	Memory         int64 // bytes
	L2             int64 // bytes
	MemoryGBps     int   // of device memory, by its clock and width; 0: unknown
	SharedOptin    int   // the most bytes of shared memory that a block may use
	PageableAccess bool  // the device reads and writes any host memory coherently
	HostRegister   bool  // host memory can be page-locked after its allocation
	VMM            bool  // supports the virtual memory API
	Driver         int   // the CUDA version that the driver supports: 1000 major + 10 minor
	PCI            string
}

// Devices describes the devices visible to this process.
func Devices() ([]Info, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, wrap("cuDeviceGetCount", err)
	}
	out := make([]Info, 0, n)
	for i := range n {
		info, err := describe(i)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func describe(ordinal int) (Info, error) {
	info := Info{Ordinal: ordinal, Driver: cu.Version()}
	d, err := cu.GetDevice(ordinal)
	if err != nil {
		return info, wrap("cuDeviceGet", err)
	}
	if info.Name, err = d.Name(); err != nil {
		return info, wrap("cuDeviceGetName", err)
	}
	id, err := d.UUID()
	if err != nil {
		return info, wrap("cuDeviceGetUuid", err)
	}
	info.UUID = "GPU-" + id.String()
	if info.Memory, err = d.TotalMem(); err != nil {
		return info, wrap("cuDeviceTotalMem", err)
	}
	if info.PCI, err = busID(ordinal); err != nil {
		return info, err
	}
	var l2, kilohertz, bits, pageable, register, virtual int
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		to        *int
	}{
		{computeMajor, &info.Major}, {computeMinor, &info.Minor}, {multiprocessor, &info.SMs}, {l2Bytes, &l2}, {cu.MemoryClockRate, &kilohertz}, {cu.GlobalMemoryBusWidth, &bits},
		{sharedOptin, &info.SharedOptin}, {pageableAccess, &pageable}, {hostRegister, &register}, {virtualMemory, &virtual},
	} {
		if *a.to, err = d.Attribute(a.attribute); err != nil {
			return info, wrap("cuDeviceGetAttribute", err)
		}
	}
	info.L2, info.MemoryGBps = int64(l2), 2*kilohertz/8*bits/1e6 // two transfers a cycle
	info.PageableAccess, info.HostRegister, info.VMM = pageable != 0, register != 0, virtual != 0
	return info, nil
}
