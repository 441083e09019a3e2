// Package memory manages all memory of the daemon that grows with the data:
// extents, which are shared with backends, and blocks, which are private to the
// algorithms. Both are outside the Go heap.
//
// A Budget limits the total and queues the jobs that must wait; each job has an
// Account with a reservation from the Budget. A Store owns the pages. It keeps
// the pages that a job returns for the next job, because fresh pages cost 0.3
// to 0.6 s/GB, and drops them when the budget needs the space or the daemon is
// idle.
package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// Store owns the pages of extents and blocks, both in use and kept for reuse.
// Their total never exceeds the store's limit.
type Store struct {
	extentSize int64
	maxExtents int
	pages      *joincore.Account // extents, blocks and bookings, in use or kept
	kept       *joincore.Account // blocks that no job has
	free       *joincore.Account // extents that no job has

	mu      sync.Mutex
	extents int // number of existing extents
	nextID  uint64
	warm    []*Extent
	all     index             // all existing extents
	blocks  map[int64][]block // kept ones, by size class
	lastUse time.Time
	closed  bool

	doomed     []mapping // to be destroyed: still counted, no longer listed
	destroying int       // mappings that are being destroyed: still counted
	destroyed  sync.Cond // signals the end of destroying a mapping

	beforeDestroy func() // set by tests: is called before a mapping is destroyed
}

// mapping is the memory of a block or an extent that the store drops.
type mapping struct {
	size    int64
	destroy func()
}

// ErrStore reports that the system has no more memory, mappings or descriptors
// for extents and blocks.
var ErrStore = errors.New("the system gives the daemon no more memory")

// NewStore returns a store that holds at most limit bytes, including at most
// maxExtents extents of extentSize bytes each.
func NewStore(extentSize, limit int64, maxExtents int) (*Store, error) {
	if err := shm.CheckExtentSize(extentSize); err != nil {
		return nil, err
	}
	s := &Store{extentSize: extentSize, maxExtents: maxExtents, pages: joincore.NewRoot(nil), blocks: map[int64][]block{}, all: index{byID: map[uint64]*Extent{}}}
	s.pages.AddLimit(limit)
	s.kept, s.free = joincore.NewAccount("kept blocks", s.pages), joincore.NewAccount("free extents", s.pages)
	s.destroyed.L = &s.mu
	return s, nil
}

// ExtentSize returns the size of every extent in bytes.
func (s *Store) ExtentSize() int64 { return s.extentSize }

// makeRoom drops kept memory until n more bytes fit. The caller holds s's lock, which
// makeRoom releases meanwhile.
func (s *Store) makeRoom(n int64) error {
	for s.pages.Used()+n > s.pages.Limit() {
		switch {
		case len(s.doomed) > 0:
			s.destroyOne()
		case s.doomKept(0):
		case s.destroying > 0:
			s.destroyed.Wait()
		default:
			return fmt.Errorf("%w: %d bytes in use of %d", joincore.ErrBudget, s.pages.Used(), s.pages.Limit())
		}
	}
	return nil
}

// doomBlock drops a block that is not among the kept ones. The caller holds s's lock.
func (s *Store) doomBlock(b []byte) {
	s.doomed = append(s.doomed, mapping{int64(len(b)), func() { _ = shm.Unmap(b) }}) // fails only for a mapping that is not ours
}

// doomExtent drops an extent that is not among the warm ones. The caller holds s's lock.
func (s *Store) doomExtent(e *Extent) {
	s.extents--
	s.all.remove(e)
	s.doomed = append(s.doomed, mapping{s.extentSize, e.destroy})
}

// destroyOne destroys a dropped mapping, of which there must be one. Its bytes count until the
// system has them back. The kernel takes up to a second for several gigabytes, so destroyOne
// releases s's lock, which the caller holds, meanwhile.
func (s *Store) destroyOne() {
	m := s.doomed[0]
	s.doomed = s.doomed[1:]
	s.destroying++
	s.mu.Unlock()
	if s.beforeDestroy != nil {
		s.beforeDestroy()
	}
	m.destroy()
	s.mu.Lock()
	s.destroying--
	s.pages.Give(m.size)
	s.destroyed.Broadcast()
}

// sweep destroys all dropped mappings. The caller holds s's lock, which sweep releases
// meanwhile.
func (s *Store) sweep() {
	for len(s.doomed) > 0 {
		s.destroyOne()
	}
}

// doomKept drops one kept block, of the largest class, or else the extent that was unused
// for the longest time, if more than warm bytes of extents exist. It reports whether there
// was one. The caller holds s's lock.
func (s *Store) doomKept(warm int64) bool {
	switch {
	case s.kept.Used() > 0:
		s.doomBlock(s.popBlock(slices.Max(slices.Collect(maps.Keys(s.blocks)))))
	case len(s.warm) > 0 && int64(s.extents)*s.extentSize > warm:
		e := s.warm[0]
		s.warm = slices.Delete(s.warm, 0, 1)
		s.free.Give(s.extentSize)
		s.doomExtent(e)
	default:
		return false
	}
	return true
}

// staleAfter is how long a block of an unused size class is kept while blocks
// of other classes are mapped.
const staleAfter = 2 * time.Second

// dropStale drops blocks of other size classes that have not been used for a
// while, to offset n bytes that are about to be mapped. It keeps changing
// workloads from accumulating memory. The caller holds s's lock, which dropStale
// releases meanwhile.
func (s *Store) dropStale(n int64) {
	limit := time.Now().Add(-staleAfter)
	for class, list := range s.blocks {
		for ; n > 0 && len(list) > 0 && list[0].freed.Before(limit); n -= class {
			s.doomBlock(list[0].data)
			list = list[1:]
			s.kept.Give(class)
		}
		if len(list) == 0 {
			delete(s.blocks, class)
		} else {
			s.blocks[class] = list
		}
	}
	s.sweep()
}

// popBlock takes a kept block of class, which must exist.
func (s *Store) popBlock(class int64) []byte {
	list := s.blocks[class]
	b := list[len(list)-1].data
	if len(list) == 1 {
		delete(s.blocks, class)
	} else {
		s.blocks[class] = list[:len(list)-1]
	}
	s.kept.Give(class)
	return b
}

func (s *Store) getBlock(class int64) ([]byte, error) {
	s.mu.Lock()
	s.lastUse = time.Now()
	if len(s.blocks[class]) > 0 {
		b := s.popBlock(class)
		s.mu.Unlock()
		return b, nil
	}
	s.dropStale(class)
	err := s.makeRoom(class)
	if err == nil {
		s.pages.Take(class)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b, err := shm.MapPrivate(int(class))
	if err != nil {
		s.mu.Lock()
		s.pages.Give(class)
		s.mu.Unlock()
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	return b, nil
}

func (s *Store) putBlock(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUse = time.Now()
	if s.closed {
		s.doomBlock(b)
		s.sweep()
		return
	}
	class := int64(len(b))
	s.blocks[class] = append(s.blocks[class], block{b, s.lastUse})
	s.kept.Take(class)
}

func (s *Store) getExtent() (*Extent, error) {
	s.mu.Lock()
	s.lastUse = time.Now()
	if n := len(s.warm); n > 0 {
		e := s.warm[n-1]
		s.warm = s.warm[:n-1]
		s.free.Give(s.extentSize)
		s.mu.Unlock()
		return e, nil
	}
	s.mu.Unlock()
	return s.addExtent()
}

// addExtent creates an extent.
func (s *Store) addExtent() (*Extent, error) {
	s.mu.Lock()
	err := s.makeRoom(s.extentSize)
	switch {
	case err != nil:
	case s.closed:
		err = joincore.ErrBudget
	case s.extents >= s.maxExtents:
		err = fmt.Errorf("%w: %d extents exist; the limits on open files and mappings do not allow more", ErrStore, s.extents)
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.pages.Take(s.extentSize)
	s.extents++
	s.nextID++
	id := s.nextID
	s.mu.Unlock()

	e, err := newExtent(id, s.extentSize)
	if err != nil {
		s.mu.Lock()
		s.pages.Give(s.extentSize)
		s.extents--
		s.mu.Unlock()
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	s.mu.Lock()
	s.all.add(e)
	s.mu.Unlock()
	return e, nil
}

func (s *Store) putExtent(e *Extent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUse = time.Now()
	if s.closed {
		s.doomExtent(e)
		s.sweep()
		return
	}
	s.warm = append(s.warm, e)
	s.free.Take(s.extentSize)
}

// Warm creates extents, a few milliseconds each, until extents of the given
// total bytes exist or ctx is done.
func (s *Store) Warm(ctx context.Context, bytes int64) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		have := int64(s.extents) * s.extentSize
		s.mu.Unlock()
		if have+s.extentSize > min(bytes, s.pages.Limit()) {
			return nil
		}
		e, err := s.addExtent()
		if err != nil {
			return err
		}
		s.putExtent(e)
	}
	return nil
}

// Upkeep runs until ctx is done. Whenever the store has been idle for the
// duration idle, it returns kept memory beyond warm bytes of extents to the
// system.
func (s *Store) Upkeep(ctx context.Context, warm int64, idle time.Duration) {
	tick := time.NewTicker(max(idle/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.Trim(warm, idle)
		}
	}
}

// Trim returns kept memory beyond warm bytes of extents to the system if no
// memory was taken or returned for the duration idle. It stops early when the
// store is used.
func (s *Store) Trim(warm int64, idle time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for time.Since(s.lastUse) >= idle && (len(s.doomed) > 0 || s.doomKept(warm)) {
		s.destroyOne()
	}
}

// Close drops all kept memory, and drops memory in use when it is returned.
func (s *Store) Close() {
	s.Trim(0, 0)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.Trim(0, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.destroying > 0 {
		s.destroyed.Wait()
	}
}

// Report lists the store's accounts, of which the first one is called path. Accounts
// of jobs are not among them.
func (s *Store) Report(path string) []joincore.AccountUsage { return s.pages.Report(path, nil) }

// StoreUsage is a snapshot of a Store.
type StoreUsage struct {
	Physical   int64 `json:"-"` // bytes of extents and blocks, in use or kept
	ExtentSize int64 `json:"extent_size"`
	Extents    int   `json:"extents"`     // existing ones
	Free       int   `json:"free"`        // extents that are not in use
	Warm       int64 `json:"warm"`        // bytes of these
	KeptBlocks int64 `json:"kept_blocks"` // bytes
}

// Usage returns a snapshot of s.
func (s *Store) Usage() StoreUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return StoreUsage{s.pages.Used(), s.extentSize, s.extents, len(s.warm), s.free.Used(), s.kept.Used()}
}
