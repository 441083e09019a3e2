//go:build cuda

package driver

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"gorgonia.org/cu"
)

// Context is the primary context of a device, shared by all that open it. It
// is safe for concurrent use.
type Context struct {
	info   Info
	device cu.Device
	ctx    cu.CUContext
	waiter *waiter
	lost   atomic.Pointer[Error]
	seed   atomic.Uint64 // of the hash of keys
}

// Open makes a device's primary context ready.
func Open(ordinal int) (*Context, error) {
	info, err := describe(ordinal)
	if err != nil {
		return nil, err
	}
	c := &Context{info: info, device: cu.Device(ordinal)}
	if c.ctx, err = c.device.RetainPrimaryCtx(); err != nil {
		return nil, wrap("cuDevicePrimaryCtxRetain", err)
	}
	c.waiter = newWaiter(c)
	c.seed.Store(processSeed)
	return c, nil
}

// processSeed is drawn once, and not by device: devices exchange what is
// partitioned by hash.
var processSeed = rand.Uint64()

// HashSeed returns the seed of the hash of keys in modules that are loaded.
func (c *Context) HashSeed() uint64 { return c.seed.Load() }

// SetHashSeed is for tests: modules that are loaded from now on hash by seed.
// All that work on the same join must have the same.
func (c *Context) SetHashSeed(seed uint64) { c.seed.Store(seed) }

// Info describes the device.
func (c *Context) Info() Info { return c.info }

// FreeMemory returns how many bytes of the device nobody has taken.
func (c *Context) FreeMemory() (free int64, err error) {
	err = c.with("cuMemGetInfo", func() (err error) {
		free, _, err = cu.MemInfo()
		return err
	})
	return free, err
}

// Lost returns the error by which the context was lost; nil: it was not.
func (c *Context) Lost() error {
	if e := c.lost.Load(); e != nil {
		return e
	}
	return nil
}

// Close gives the context back. Everything made of it has been closed before.
func (c *Context) Close() error {
	c.waiter.stop()
	return wrap("cuDevicePrimaryCtxRelease", c.device.ReleasePrimaryCtx())
}

// with calls cu with the context current.
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
