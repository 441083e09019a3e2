//go:build cuda

package columnar

import (
	"sync"

	"gpujoin/joincore/cuda/driver"
)

// PerContext makes one T for each device context, when it is first asked for:
// an algorithm's module and what goes with it. It is safe for concurrent use.
type PerContext[T any] struct {
	// Make makes the value of a context. Its error is returned and not kept.
	Make func(*driver.Context) (T, error)

	mu   sync.Mutex
	made map[*driver.Context]T
}

// Get returns the value of d.
func (p *PerContext[T]) Get(d *driver.Context) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.made[d]; ok {
		return v, nil
	}
	v, err := p.Make(d)
	if err != nil {
		return v, err
	}
	if p.made == nil {
		p.made = map[*driver.Context]T{}
	}
	p.made[d] = v
	return v, nil
}

// Forget drops the value of a context that is being closed and returns it.
func (p *PerContext[T]) Forget(d *driver.Context) (v T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok = p.made[d]
	delete(p.made, d)
	return v, ok
}
