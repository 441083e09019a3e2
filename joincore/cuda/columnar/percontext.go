//go:build cuda

package columnar

import (
	"sync"

	"gpujoin/joincore/cuda/driver"
)

// PerContext creates one T per device context on first use, such as an algorithm's
// module. It is safe for concurrent use.
type PerContext[T any] struct {
	// Make creates a context's value. An error is returned and not remembered.
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

// Forget removes and returns the value of a context that is being closed.
func (p *PerContext[T]) Forget(d *driver.Context) (v T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok = p.made[d]
	delete(p.made, d)
	return v, ok
}
