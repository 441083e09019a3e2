//go:build cuda

package outofcore

import "gpujoin/joincore"

// Staging returns host memory through which devices copy to each other, and what gives it back when no
// copy uses it any more. It is charged to a job. It is a slab, and page-locked at once, because each
// byte is used many times; where the pool has none, it is memory of the job, and the driver stages copies.
func (d *Device) Staging(mem joincore.Memory, bytes int64) (memory []byte, free func() error, err error) {
	size := slabSize(bytes)
	grant, err := mem.Alloc(size)
	if err != nil {
		return nil, nil, err
	}
	s := d.Slabs.takeLocked(size)
	if s == nil {
		return grant[:bytes], func() error {
			mem.Free(grant)
			return nil
		}, nil
	}
	return s.mem[:bytes], func() error {
		d.Slabs.give(s)
		mem.Free(grant)
		return nil
	}, nil
}
