//go:build cuda

package outofcore

import "gpujoin/joincore/cuda/transfer"

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
func takeScratch(e Execution, n int64) (scratch, error) {
	d, mem := e.Device(), e.Memory()
	least := int64(slabFrom)
	if d.SlabFrom > 0 {
		least = d.SlabFrom
	}
	if n >= least && e.Method(nil) == transfer.Staged && d.Slabs.refusal() == nil {
		size := slabSize(n)
		if grant, err := mem.Alloc(size); err == nil {
			if e.Method(grant) == transfer.Staged {
				if s := d.Slabs.take(size); s != nil {
					return charged(e, n, s, grant)
				}
			}
			return scratch{bytes: grant[:n], grant: grant}, nil
		}
	}
	grant, err := mem.Alloc(n)
	return scratch{bytes: grant, grant: grant}, err
}

// charged returns scratch of n bytes in a slab. A slab that is larger than what the job was
// granted is charged as it is; if the job may not have that much, it does without.
func charged(e Execution, n int64, s *slab, grant []byte) (scratch, error) {
	mem := e.Memory()
	if s.size() == int64(len(grant)) {
		return scratch{bytes: s.mem[:n], grant: grant, slab: s}, nil
	}
	larger, err := mem.Alloc(s.size() - int64(len(grant)))
	if err != nil {
		e.Device().Slabs.give(s)
		return scratch{bytes: grant[:n], grant: grant}, nil
	}
	return scratch{bytes: s.mem[:n], grant: grant, more: larger, slab: s}, nil
}

// freeScratch frees scratch memory, which no copy may still use.
func freeScratch(e Execution, s scratch) {
	if s.slab != nil {
		e.Device().Slabs.give(s.slab)
	}
	for _, b := range [][]byte{s.grant, s.more} {
		if b != nil {
			e.Memory().Free(b)
		}
	}
}
