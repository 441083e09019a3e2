package outofcore

import (
	"fmt"
	"math/bits"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Pool is a pool of page-locked host memory that jobs reuse. Locking can take
// longer than staged copies, and slows down concurrent copies. The first user
// of a slab therefore makes staged copies; the slab is locked when it is
// returned, with its pages present, and kept for the next job. A job that takes
// a slab before it is locked makes staged copies, too.
//
// Used plus idle slabs never exceed the peak of the bytes granted since the
// pool was last empty. A job whose kernels read a slab where it is has it locked
// at once (lockNow). A new slab replaces idle ones, and slabs are also freed
// after they have been idle for a while. All mapped slabs, including those
// being freed, never exceed a limit. After a refused lock the pool locks no
// more slabs and provides none. It is safe for concurrent use.
type Pool struct {
	// Limit is the most bytes of all slabs. It must not change while one is in use.
	Limit int64

	lock func(mem []byte) (unlock func(), err error)
	idle time.Duration // until an idle slab is given back

	mu      sync.Mutex
	used    int64   // bytes in use by jobs
	most    int64   // peak of used since the pool was last empty
	kept    []*slab // idle slabs, longest idle first
	bytes   int64   // of them
	ending  int64   // bytes being freed: neither used nor kept, but still mapped
	locking *slab   // idle, in use or about to end; nil: none is
	busy    bool    // a goroutine is locking idle slabs
	refused error
	timer   *time.Timer // runs while slabs are idle
	closed  bool
	work    sync.WaitGroup // background goroutines
}

// idleSlab is how long an idle slab is kept.
const idleSlab = 10 * time.Second

// NewPool returns a pool of at most limit bytes. lock page-locks a slab's memory until
// unlock. The caller must call Close.
func NewPool(lock func([]byte) (func(), error), limit int64) *Pool {
	return &Pool{Limit: limit, lock: lock, idle: idleSlab}
}

// take returns a slab of at least a size that slabSize has returned and a job was granted,
// or nil if none is available. The slab may be larger, up to mostFor(size). Its content is
// unspecified.
func (p *Pool) take(size int64) *slab { return p.takeUpTo(size, mostFor(size)) }

// takeUpTo is take with another limit.
func (p *Pool) takeUpTo(size, most int64) *slab {
	p.mu.Lock()
	if p.closed || p.refused != nil || p.used+size > p.Limit {
		p.mu.Unlock()
		return nil
	}
	if s := p.find(size, most); s != nil {
		p.used += s.size()
		p.most = max(p.most, p.used)
		p.mu.Unlock()
		return s
	}
	p.used += size
	p.most = max(p.most, p.used)
	others := p.ending
	old := p.excess(func() bool { return p.used+p.bytes > p.most || p.used+p.bytes+others > p.Limit })
	p.mu.Unlock()
	p.end(old)
	s := p.mapped(size)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == nil { // the job uses its own memory
		p.used -= size
		p.forget()
		return nil
	}
	return s
}

// takeLocked is take for a slab of the given size that is page-locked before its first use, for a user who
// reads and writes it many times. It returns nil if none can be locked.
func (p *Pool) takeLocked(size int64) *slab {
	s := p.takeUpTo(size, size)
	if s != nil && p.lockNow(s) != nil {
		p.give(s)
		return nil
	}
	return s
}

// mapped returns a new slab; nil: what is about to end leaves no room, or the
// machine has none.
func (p *Pool) mapped(size int64) *slab {
	p.mu.Lock()
	full := p.used+p.bytes+p.ending > p.Limit
	p.mu.Unlock()
	if full {
		return nil
	}
	s, err := newSlab(size)
	if err != nil {
		return nil
	}
	return s
}

// mostFor is the largest slab that serves a job which wants size bytes: half as much again. Jobs
// of different sizes that take turns would otherwise never find a slab that is locked.
func mostFor(size int64) int64 { return size + size/2 }

// find takes an idle slab of size to most bytes: of those that suit best the smallest, and of
// these the last one that came back, for the first is locked first. The caller has locked p.
func (p *Pool) find(size, most int64) *slab {
	best, rank := -1, unsuited
	for i, s := range p.kept {
		r := p.suits(s, size, most)
		if r > rank || r == rank && r > unsuited && s.size() <= p.kept[best].size() {
			best, rank = i, r
		}
	}
	if best < 0 {
		return nil
	}
	return p.remove(best)
}

// unsuited is the rank of slabs that do not suit.
const unsuited = -1

// suits ranks idle slabs for a job that wants size bytes and may have most. Best is a locked one
// of that size, then a larger one that is locked. Worst is the one that is being locked, because
// its user would copy at the same time. The caller holds p's lock.
func (p *Pool) suits(s *slab, size, most int64) int {
	locked, exact := s.unlock != nil, s.size() == size
	switch {
	case s.size() < size || s.size() > most || !exact && !locked:
		return unsuited
	case locked && exact:
		return 3
	case locked:
		return 2
	case s != p.locking:
		return 1
	}
	return 0
}

// give takes a slab back, which nothing reads or writes any more, and sees to it
// that it is locked.
func (p *Pool) give(s *slab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= s.size()
	s.since = time.Now()
	p.kept = append(p.kept, s)
	p.bytes += s.size()
	if p.refused != nil {
		p.endUnlocked()
	} else if s.unlock == nil && !p.busy {
		p.busy = true
		p.work.Go(p.lockIdle)
	}
	p.forget()
	if len(p.kept) > 0 && p.timer == nil {
		p.timer = time.AfterFunc(p.idle, p.expire)
	}
}

// forget resets the peak when the pool is empty. The caller holds p's lock.
func (p *Pool) forget() {
	if p.used == 0 && len(p.kept) == 0 {
		p.most = 0
	}
}

// Close frees all slabs. No job may be using one.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	old := p.excess(func() bool { return true })
	p.forget()
	p.mu.Unlock()
	p.end(old)
	p.work.Wait()
}

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
		p.locking, s.unlock = nil, unlock
		if err != nil {
			p.refused = err
		}
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

// lockNow locks a slab that a job has, unless it is locked. After an error the pool provides no more
// slabs; the caller gives this one back.
func (p *Pool) lockNow(s *slab) error {
	for p.isLocking(s) {
		time.Sleep(time.Millisecond)
	}
	p.mu.Lock()
	locked, err := s.unlock != nil, p.refused
	p.mu.Unlock()
	if locked || err != nil {
		return err
	}
	unlock, err := p.lock(s.mem)
	p.mu.Lock()
	defer p.mu.Unlock()
	s.unlock = unlock
	if err != nil {
		p.refused = err
	}
	return err
}

func (p *Pool) isLocking(s *slab) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.locking == s
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
