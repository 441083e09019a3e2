//go:build cuda

package outofcore

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/links"
)

// scratch is host memory of a job for data that the device stores there
// temporarily.
type scratch struct {
	bytes []byte
	grant []byte // of the job's memory: what it may take
	more  []byte // the same: by how much the slab is larger
	slab  *slab  // nil: the bytes are those of grant
}

// slabFrom is the minimum number of bytes for which a slab is used.
const slabFrom = 1 << 20

// takeScratch returns scratch of n bytes. It uses a slab if copies of the job's
// own memory would be staged. The grant is then left untouched: it is address
// space without pages that charges the slab's bytes to the job.
func takeScratch(e Resources, n int64) (scratch, error) {
	d, mem := e.Device(), e.Memory()
	least := int64(slabFrom)
	if d.SlabFrom > 0 {
		least = d.SlabFrom
	}
	if n >= least && e.Method(nil) == links.Staged && d.Slabs.refusal() == nil {
		size := slabSize(n)
		if grant, err := mem.Alloc(size); err == nil {
			if e.Method(grant) == links.Staged {
				if s, more := takeCharged(e, size); s != nil {
					return scratch{bytes: s.mem[:n], grant: grant, more: more, slab: s}, nil
				}
			}
			return scratch{bytes: grant[:n], grant: grant}, nil
		}
	}
	grant, err := mem.Alloc(n)
	return scratch{bytes: grant, grant: grant}, err
}

// takeCharged returns a slab for a job that was granted size bytes, and what the job was granted
// for the rest of a larger slab. A job that may not have the rest gets a slab of its size.
func takeCharged(e Resources, size int64) (s *slab, more []byte) {
	slabs := e.Device().Slabs
	if s = slabs.take(size); s == nil || s.size() == size {
		return s, nil
	}
	more, err := e.Memory().Alloc(s.size() - size)
	if err != nil {
		slabs.give(s)
		return slabs.takeUpTo(size, size), nil
	}
	return s, more
}

// TakeLocked returns n bytes of page-locked memory of a job, which kernels of all devices read at the
// host's addresses, until free. It waits until the memory is locked. ErrBudget: the job may not have as much, or
// too much is locked; ErrUnsupported: the driver locks none.
func TakeLocked(e Resources, n int64) (memory []byte, free func(), err error) {
	size, slabs := slabSize(n), e.Device().Slabs
	grant, err := e.Memory().Alloc(size)
	if err != nil {
		return nil, nil, err
	}
	own := scratch{grant: grant}
	if own.slab, own.more = takeCharged(e, size); own.slab == nil {
		err = fmt.Errorf("%d MB of page-locked host memory, beside what other joins have of at most %d MB: %w", size>>20, max(slabs.Limit, 0)>>20, joincore.ErrBudget)
	} else {
		err = slabs.lockNow(own.slab)
	}
	if refused := slabs.refusal(); refused != nil && err != nil {
		err = fmt.Errorf("host memory could not be page-locked: %w: %w", refused, joincore.ErrUnsupported)
	}
	if err != nil {
		freeScratch(e, own)
		return nil, nil, err
	}
	return own.slab.mem[:n], func() { freeScratch(e, own) }, nil
}

// freeScratch frees scratch memory, which no copy may still use.
func freeScratch(e Resources, s scratch) {
	if s.slab != nil {
		e.Device().Slabs.give(s.slab)
	}
	for _, b := range [][]byte{s.grant, s.more} {
		if b != nil {
			e.Memory().Free(b)
		}
	}
}
