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
	Slabs   *Pool
	kernels *driver.Module
}

// Limits are for tests; zero values leave the choice to the package. They must not
// change while a join runs.
type Limits struct {
	WindowRows int64 // rows of a window
	SplitBytes int64 // device memory of a build side from which a join is out of core
	SlabFrom   int64 // bytes of a window from which a slab is used
	By         Dividers
}

// Open loads the kernels. lock page-locks memory, for copies to and from the device.
func Open(c *driver.Context, lock func(mem []byte) (unlock func(), err error)) (*Device, error) {
	module, err := c.Load(kernels.Divide)
	if err != nil {
		return nil, err
	}
	limit, err := slabBytes()
	if err != nil {
		return nil, err
	}
	return &Device{kernels: module, Slabs: NewPool(lock, limit)}, nil
}

// Close frees the slabs. No join may be running. The kernels are unloaded with the
// device's context.
func (d *Device) Close() { d.Slabs.Close() }

// Note returns which optional feature is unavailable, and why, or "".
func (d *Device) Note() string {
	if err := d.Slabs.refusal(); err != nil {
		return fmt.Sprintf("the host memory of out-of-core joins could not be page-locked, so its copies are staged: %v", err)
	}
	return ""
}

// slabBytes returns the limit on the page-locked bytes of a device's slabs. The
// slabs of all devices may use an eighth of the machine's memory.
func slabBytes() (int64, error) {
	infos, err := driver.Devices()
	if err != nil {
		return 0, err
	}
	var machine syscall.Sysinfo_t
	if err := syscall.Sysinfo(&machine); err != nil {
		return 0, fmt.Errorf("sysinfo: %w", err)
	}
	return int64(machine.Totalram) * int64(machine.Unit) / 8 / int64(max(len(infos), 1)), nil
}
