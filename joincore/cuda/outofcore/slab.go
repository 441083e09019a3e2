package outofcore

import (
	"fmt"
	"math/bits"
	"sync"
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

// expire frees slabs that have been idle for long enough.
func (p *Pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil { // closed
		return
	}
	now := time.Now()
	old := p.excess(func() bool { return now.Sub(p.kept[0].since) >= p.idle })
	p.forget()
	p.timer = nil
	if len(p.kept) > 0 {
		p.timer = time.AfterFunc(p.idle-now.Sub(p.kept[0].since), p.expire)
	}
	p.work.Go(func() { p.end(old) }) // unlocking is slow and must not delay jobs
}

// Kept returns the bytes of slabs that no job has: idle ones, and those being freed.
func (p *Pool) Kept() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes + p.ending
}

// excess takes idle slabs away, the longest idle first, while there are too
// many; it returns those that the caller has to end. The caller has locked p.
func (p *Pool) excess(tooMany func() bool) (out []*slab) {
	for len(p.kept) > 0 && tooMany() {
		if s := p.remove(0); p.drop(s) {
			out = append(out, s)
		}
	}
	return out
}

// endUnlocked ends the idle slabs that are not locked, after a refusal: none is
// being locked any more. The caller has locked p, which is free meanwhile.
func (p *Pool) endUnlocked() {
	var old []*slab
	for i := len(p.kept) - 1; i >= 0; i-- {
		if s := p.kept[i]; s.unlock == nil && p.drop(p.remove(i)) {
			old = append(old, s)
		}
	}
	p.endMeanwhile(old)
}

// remove takes an idle slab out. The caller has locked p.
func (p *Pool) remove(i int) *slab {
	s := p.kept[i]
	p.kept = append(p.kept[:i:i], p.kept[i+1:]...)
	p.bytes -= s.size()
	return s
}

// drop marks a removed slab for freeing. It reports whether the caller must free it; the
// goroutine that is locking it frees it otherwise. The caller has locked p.
func (p *Pool) drop(s *slab) bool {
	s.dropped = true
	p.ending += s.size()
	return s != p.locking
}

// end ends slabs that were dropped. The caller has not locked p: unlocking takes
// a while.
func (p *Pool) end(list []*slab) {
	for _, s := range list {
		s.destroy()
		p.mu.Lock()
		p.ending -= s.size()
		p.mu.Unlock()
	}
}

// endMeanwhile is end for a caller that has locked p, which is free meanwhile.
func (p *Pool) endMeanwhile(list []*slab) {
	p.mu.Unlock()
	p.end(list)
	p.mu.Lock()
}

// lockIdle locks idle slabs, one after the other, until all are.
func (p *Pool) lockIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := p.unlocked(); s != nil; s = p.unlocked() {
		p.locking = s
		p.mu.Unlock()
		unlock, err := p.lock(s.mem)
		p.mu.Lock()
		p.locking, s.unlock, p.refused = nil, unlock, err
		if s.dropped {
			p.endMeanwhile([]*slab{s})
		}
		if p.refused != nil {
			p.endUnlocked()
			p.forget()
			break
		}
	}
	p.busy = false
}

// Settle waits until all idle slabs are page-locked, or locking was refused.
func (p *Pool) Settle() {
	for p.locksIdle() {
		time.Sleep(time.Millisecond)
	}
}

func (p *Pool) locksIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy
}

// unlocked returns the slab that has waited the longest for being locked, nil
// where none does. The caller has locked p.
func (p *Pool) unlocked() *slab {
	for _, s := range p.kept {
		if s.unlock == nil {
			return s
		}
	}
	return nil
}

// refusal returns why there are no slabs, nil where there are.
func (p *Pool) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// sharedPool is a pool that several devices use: a page lock applies to all devices, so a
// slab that a join on one of them has left serves a join on any other. A join on two
// devices would otherwise find unlocked slabs whenever a device partitions more windows
// than it did before. The zero value is ready to use.
type sharedPool struct {
	mu    sync.Mutex
	pool  *Pool // nil: no device is open
	users int
	free  func() // frees what the pool's locks need
}

// open returns the pool. The first user makes it; free is called when the last one has
// closed it.
func (s *sharedPool) open(newPool func() (p *Pool, free func(), err error)) (*Pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool == nil {
		var err error
		if s.pool, s.free, err = newPool(); err != nil {
			s.pool = nil
			return nil, err
		}
	}
	s.users++
	return s.pool, nil
}

// close must be called once by each user. The last one frees all slabs.
func (s *sharedPool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	s.pool.Close()
	s.free()
	s.pool, s.free = nil, nil
}
