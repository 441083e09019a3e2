//go:build cuda

package cuda

import (
	"fmt"
	"syscall"

	"gpujoin/joincore/cuda/transfer"
)

// scratch is memory on the host of a job, for what the device sends there to
// have it again.
type scratch struct {
	bytes []byte
	grant []byte // of the job's memory: what it may take
	slab  *slab  // nil: the bytes are the grant's
}

// leastSlab is how many bytes are worth a slab.
const leastSlab = 1 << 20

// takeScratch returns scratch of n bytes, of a slab where copies of the job's
// own memory would be staged. The grant stays untouched then: it is address
// space without pages, and what counts the slab's bytes towards the job.
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

// freeScratch gives it back. No copy uses it any more.
func (e *execution) freeScratch(s scratch) {
	if s.slab != nil {
		e.p.slabs.give(s.slab)
	}
	if s.grant != nil {
		e.mem.Free(s.grant)
	}
}

// Note says what the provider does without, and why; "": nothing.
func (p *Provider) Note() string {
	if err := p.slabs.refusal(); err != nil {
		return fmt.Sprintf("memory for dividing inputs is not page-locked, copies of it are staged: %v", err)
	}
	return ""
}

// slabBytes is how much memory a provider page-locks for slabs at most: those of
// all devices an eighth of the machine's.
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
