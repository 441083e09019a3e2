package suite

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"gpujoin/joincore"
)

// Arena is a Memory that counts the bytes in use, with large blocks on huge pages. It
// panics on a Free of memory that it did not allocate.
type Arena struct {
	Limit  int64 // maximum bytes in use; 0: unlimited
	FailAt int   // this allocation and all later ones fail; 0: none
	Poison bool  // blocks are not zero at first, as those of the daemon may not be

	lock   sync.Mutex
	inUse  int64
	blocks map[*byte]int
	allocs int
}

// mapped is the number of bytes from which blocks are mapped.
const mapped = 1 << 20

func (a *Arena) Alloc(n int64) ([]byte, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.allocs++
	if a.FailAt > 0 && a.allocs >= a.FailAt || a.Limit > 0 && a.inUse+n > a.Limit {
		return nil, fmt.Errorf("%d bytes: %w", n, joincore.ErrBudget)
	}
	var b []byte
	if n >= mapped {
		var err error
		if b, err = MapHuge(int(n)); err != nil {
			return nil, err
		}
	} else {
		b = make([]byte, n)
	}
	if a.Poison {
		for i := range b {
			b[i] = 0xa5
		}
	}
	if a.blocks == nil {
		a.blocks = map[*byte]int{}
	}
	a.blocks[unsafe.SliceData(b)] = len(b)
	a.inUse += n
	return b, nil
}

func (a *Arena) Free(b []byte) {
	a.lock.Lock()
	defer a.lock.Unlock()
	p := unsafe.SliceData(b)
	if a.blocks[p] != len(b) || len(b) == 0 {
		panic("Free of what Alloc has not returned")
	}
	delete(a.blocks, p)
	a.inUse -= int64(len(b))
	if len(b) >= mapped {
		if err := syscall.Munmap(b); err != nil {
			panic(err)
		}
	}
}

// InUse returns the bytes that have not been freed.
func (a *Arena) InUse() int64 {
	a.lock.Lock()
	defer a.lock.Unlock()
	return a.inUse
}

// empty fails the test unless everything was freed.
func (a *Arena) empty(t *testing.T, name string) {
	t.Helper()
	if n := a.InUse(); n != 0 {
		t.Fatalf("%s: %d bytes not freed", name, n)
	}
}

// MapHuge maps memory, with huge pages if it is large enough.
func MapHuge(n int) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	if n >= 2<<20 {
		_ = syscall.Madvise(b, 14) // MADV_HUGEPAGE; optional
	}
	return b, nil
}
