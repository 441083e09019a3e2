//go:build cuda

package outofcore

import (
	"fmt"
	"syscall"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// Device is what the joins out of core on one device share.
type Device struct {
	Limits
	Slabs   *Pool // of all devices; tests may replace it
	shared  *Pool
	kernels *driver.Module
}

// slabs is the pool of all devices of this process.
var slabs sharedPool

// Lock page-locks memory for copies of all devices until unlock, in a context that stays
// open at least as long.
type Lock func(c *driver.Context, mem []byte) (unlock func(), err error)

// Limits are for tests; zero values leave the choice to the package. They must not
// change while a join runs.
type Limits struct {
	WindowRows int64 // rows of a window
	SplitBytes int64 // device memory of a build side from which a join is out of core
	SlabFrom   int64 // bytes of a window from which a slab is used
	// ResidentBytes of device memory are for partitioned windows that are not downloaded;
	// -1: none.
	ResidentBytes int64
	By            Dividers
}

// Open loads the kernels. The devices of a process lock their slabs by the function that the
// first one of them got, and slabBytes limits the slabs of all of them: 0 stands for an eighth
// of the machine's memory, less for none. The caller must call Close before it closes the
// context.
func Open(c *driver.Context, lock Lock, slabBytes int64) (*Device, error) {
	module, err := c.Load(kernels.Divide)
	if err != nil {
		return nil, err
	}
	pool, err := slabs.open(func() (*Pool, func(), error) { return newPool(c.Info().Ordinal, lock, slabBytes) })
	if err != nil {
		return nil, err
	}
	return &Device{kernels: module, Slabs: pool, shared: pool}, nil
}

// newPool returns a pool whose slabs are locked in a device's context, which it keeps open:
// other devices may use the pool when this one has closed.
func newPool(ordinal int, lock Lock, limit int64) (p *Pool, free func(), err error) {
	if limit == 0 {
		if limit, err = defaultSlabBytes(); err != nil {
			return nil, nil, err
		}
	}
	c, err := driver.Open(ordinal)
	if err != nil {
		return nil, nil, err
	}
	return NewPool(func(mem []byte) (func(), error) { return lock(c, mem) }, limit), func() { _ = c.Close() }, nil // fails only if the device is lost
}

// Close frees the slabs if no other device uses them. No join may be running. The kernels
// are unloaded with the device's context.
func (d *Device) Close() {
	if d.Slabs != d.shared {
		d.Slabs.Close()
	}
	slabs.close()
}

// Note returns which optional feature is unavailable, and why, or "".
func (d *Device) Note() string {
	if err := d.Slabs.refusal(); err != nil {
		return fmt.Sprintf("the host memory of out-of-core joins could not be page-locked, so its copies are staged: %v", err)
	}
	return ""
}

// defaultSlabBytes returns an eighth of the machine's memory.
func defaultSlabBytes() (int64, error) {
	var machine syscall.Sysinfo_t
	if err := syscall.Sysinfo(&machine); err != nil {
		return 0, fmt.Errorf("sysinfo: %w", err)
	}
	return int64(machine.Totalram) * int64(machine.Unit) / 8, nil
}
