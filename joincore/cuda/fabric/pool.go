package fabric

import (
	"fmt"
	"slices"
	"sync"

	"gpujoin/joincore"
)

// unit is what allocations are aligned to, in bytes.
const unit = 256

// pool divides a range of addresses. Allocations are first fit.
type pool struct {
	mu   sync.Mutex
	free []extent // in the order of their addresses, none next to another one
	used int64
}

// extent is bytes [at, at+bytes).
type extent struct{ at, bytes int64 }

func newPool(bytes int64) *pool { return &pool{free: []extent{{0, bytes &^ (unit - 1)}}} }

// take returns the offset of n > 0 bytes, or ErrBudget.
func (p *pool) take(n int64) (int64, error) {
	n = rounded(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.free {
		e := &p.free[i]
		if e.bytes < n {
			continue
		}
		at := e.at
		e.at, e.bytes = e.at+n, e.bytes-n
		if e.bytes == 0 {
			p.free = slices.Delete(p.free, i, i+1)
		}
		p.used += n
		return at, nil
	}
	return 0, fmt.Errorf("%d bytes for rows of other GPUs, %d are in use: %w", n, p.used, joincore.ErrBudget)
}

// give takes back what take returned for n bytes.
func (p *pool) give(at, n int64) {
	n = rounded(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	i, _ := slices.BinarySearchFunc(p.free, at, func(e extent, at int64) int { return int(min(max(e.at-at, -1), 1)) })
	p.free = slices.Insert(p.free, i, extent{at, n})
	if i+1 < len(p.free) && p.free[i].at+p.free[i].bytes == p.free[i+1].at {
		p.free[i].bytes += p.free[i+1].bytes
		p.free = slices.Delete(p.free, i+1, i+2)
	}
	if i > 0 && p.free[i-1].at+p.free[i-1].bytes == p.free[i].at {
		p.free[i-1].bytes += p.free[i].bytes
		p.free = slices.Delete(p.free, i, i+1)
	}
}

func rounded(n int64) int64 { return (n + unit - 1) &^ (unit - 1) }
