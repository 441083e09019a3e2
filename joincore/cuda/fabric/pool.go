package fabric

import (
	"fmt"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// unit is what allocations are aligned to, in bytes.
const unit = 256

// pool divides a range of addresses. Allocations are first fit.
type pool struct {
	mu   sync.Mutex
	free driver.FreeList
	used int64
}

func newPool(bytes int64) *pool { return &pool{free: driver.FreeList{{Bytes: bytes &^ (unit - 1)}}} }

// take returns the offset of n > 0 bytes, or ErrBudget.
func (p *pool) take(n int64) (int64, error) {
	n = rounded(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.free.Take(n)
	if !ok {
		return 0, fmt.Errorf("%d bytes for rows of other GPUs, %d are in use: %w", n, p.used, joincore.ErrBudget)
	}
	p.used += n
	return at, nil
}

// give takes back what take returned for n bytes.
func (p *pool) give(at, n int64) {
	n = rounded(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	p.free.Give(at, n)
}

func rounded(n int64) int64 { return (n + unit - 1) &^ (unit - 1) }
