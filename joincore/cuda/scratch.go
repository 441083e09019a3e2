//go:build cuda

package cuda

import (
	"fmt"
	"syscall"

	"gpujoin/joincore/cuda/transfer"
)

// scratch is host memory of a job for data that the device stores there
// temporarily.
type scratch struct {
	bytes []byte
	grant []byte // of the job's memory: what it may take
	slab  *slab  // nil: the bytes are those of grant
}

// leastSlab is the minimum number of bytes for which a slab is used.
const leastSlab = 1 << 20

// takeScratch returns scratch of n bytes. It uses a slab if copies of the job's
// own memory would be staged. The grant is then left untouched: it is address
// space without pages that charges the slab's bytes to the job.
func (e *execution) takeScratch(n int64) (scratch, error) {
	p := e.p
	if n >= p.leastSlab && p.transferMethod(nil) == transfer.Staged && p.slabs.refusal() == nil {
		size := slabSize(n)
		if grant, err := e.mem.Alloc(size); err == nil {
			if !p.registered.holds(grant) {
				if s := p.slabs.take(size); s != nil {
					return scratch{bytes: s.mem[:n], grant: grant, slab: s}, nil
				}
			}
			return scratch{bytes: grant[:n], grant: grant}, nil
		}
	}
	grant, err := e.mem.Alloc(n)
	return scratch{bytes: grant, grant: grant}, err
}

// freeScratch frees scratch memory, which no copy may still use.
func (e *execution) freeScratch(s scratch) {
	if s.slab != nil {
		e.p.slabs.give(s.slab)
	}
	if s.grant != nil {
		e.mem.Free(s.grant)
	}
}

// Note returns which optional feature is unavailable, and why, or "".
func (p *Provider) Note() string {
	if err := p.slabs.refusal(); err != nil {
		return fmt.Sprintf("the host memory of out-of-core joins could not be page-locked, so its copies are staged: %v", err)
	}
	return ""
}

// slabBytes returns the limit on the page-locked bytes of a provider's slabs.
// The slabs of all devices may use an eighth of the machine's memory.
func slabBytes() (int64, error) {
	infos, err := Devices()
	if err != nil {
		return 0, err
	}
	var machine syscall.Sysinfo_t
	if err := syscall.Sysinfo(&machine); err != nil {
		return 0, fmt.Errorf("sysinfo: %w", err)
	}
	return int64(machine.Totalram) * int64(machine.Unit) / 8 / int64(max(len(infos), 1)), nil
}
