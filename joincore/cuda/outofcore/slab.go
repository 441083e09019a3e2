package outofcore

import (
	"fmt"
	"math/bits"
	"syscall"
	"time"
	"unsafe"
)

// slab is host memory of this process that is page-locked after its first use.
type slab struct {
	mem, mapping []byte
	unlock       func()    // nil: it is not locked, or not yet
	since        time.Time // start of its idle time
	dropped      bool      // to be unmapped as soon as no goroutine is locking it
}

func (s *slab) size() int64 { return int64(len(s.mem)) }

const hugePage = 2 << 20

// slabSize rounds n bytes, at least one, up to a size that slabs have: sixteen
// steps in each power of two, in whole pages, so that jobs of about the same
// size use the same slabs.
func slabSize(n int64) int64 {
	step := int64(1) << max(bits.Len64(uint64(n-1))-5, 12)
	return (n + step - 1) / step * step
}

// newSlab maps memory aligned to a huge page. Locking works page by page, so it
// is faster with few large pages.
func newSlab(size int64) (*slab, error) {
	mapping, err := syscall.Mmap(-1, 0, int(size+hugePage), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", size, err)
	}
	skip := (hugePage - addressOf(mapping)%hugePage) % hugePage
	mem := mapping[skip : skip+size : skip+size]
	// Fails on a kernel without huge pages; small pages work, too.
	_ = syscall.Madvise(mem, syscall.MADV_HUGEPAGE)
	return &slab{mem: mem, mapping: mapping}, nil
}

func addressOf(mem []byte) int64 { return int64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }

func (s *slab) destroy() {
	if s.unlock != nil {
		s.unlock()
	}
	_ = syscall.Munmap(s.mapping) // fails only for what was not mapped
}
