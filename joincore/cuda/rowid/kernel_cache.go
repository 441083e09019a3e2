package rowid

import (
	"errors"
	"sync"
)

// kernelCache keeps what was compiled for programs and compiles what is used often, one
// program at a time, while its users go on without. It is safe for concurrent use.
type kernelCache[V any] struct {
	// After is how many rows a program must have been used for before it is compiled.
	After int64
	// Most is how many results are kept; the one that was used longest ago is freed for
	// the next one.
	Most int
	// Wait makes users wait for the compiler, for tests and benchmarks.
	Wait bool
	// Free frees a result.
	Free func(V) error
	// Failed is told why a program was not compiled; nil: nothing is.
	Failed func(error)

	mu        sync.Mutex
	entries   map[string]*cachedKernel[V]
	clock     int64 // uses so far
	compiling bool
	running   sync.WaitGroup
	closed    bool
}

// cachedKernel is a program.
type cachedKernel[V any] struct {
	rows  int64 // that it was used for
	used  int64 // when it was used last
	users int
	state cacheState
	value V
}

type cacheState int

const (
	kernelKnown cacheState = iota
	kernelUnderway
	kernelReady
	kernelFailed
)

// mostKnownKernels bounds the programs that are remembered for each one that is kept.
const mostKnownKernels = 16

// Use returns the result for a program that is to be used for a number of rows, or
// false if there is none yet. The caller calls release once the result is no longer in
// use. compile makes the result, in another goroutine unless the cache waits for it.
func (c *kernelCache[V]) Use(key string, rows int64, compile func() (V, error)) (value V, release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entry(key)
	if e.rows += rows; e.state == kernelKnown && e.rows >= c.After && !c.compiling && !c.closed {
		if old, ok := c.makeSpace(); ok {
			e.state, c.compiling = kernelUnderway, true
			c.running.Add(1)
			if c.Wait {
				c.mu.Unlock()
				c.finish(e, old, compile)
				c.mu.Lock()
			} else {
				go c.finish(e, old, compile)
			}
		}
	}
	if e.state != kernelReady || c.closed {
		return value, nil, false
	}
	e.users++
	return e.value, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		e.users--
	}, true
}

// entry returns a program's entry, which now was used last.
func (c *kernelCache[V]) entry(key string) *cachedKernel[V] {
	c.clock++
	e := c.entries[key]
	if e == nil {
		if c.entries == nil {
			c.entries = map[string]*cachedKernel[V]{}
		}
		if len(c.entries) >= mostKnownKernels*c.Most {
			c.forget(func(e *cachedKernel[V]) bool { return e.state == kernelKnown || e.state == kernelFailed })
		}
		e = &cachedKernel[V]{}
		c.entries[key] = e
	}
	e.used = c.clock
	return e
}

// forget removes the entry of some that was used longest ago, and returns it or nil.
func (c *kernelCache[V]) forget(which func(*cachedKernel[V]) bool) *cachedKernel[V] {
	oldest := ""
	for key, e := range c.entries {
		if which(e) && (oldest == "" || e.used < c.entries[oldest].used) {
			oldest = key
		}
	}
	e := c.entries[oldest]
	delete(c.entries, oldest)
	return e
}

// makeSpace removes a result if there are as many as are kept, and returns it to be freed,
// or nil; false: all are in use.
func (c *kernelCache[V]) makeSpace() (old *cachedKernel[V], ok bool) {
	kept := 0
	for _, e := range c.entries {
		if e.state == kernelReady {
			kept++
		}
	}
	if kept < c.Most {
		return nil, true
	}
	old = c.forget(func(e *cachedKernel[V]) bool { return e.state == kernelReady && e.users == 0 })
	return old, old != nil
}

// finish frees what made space, and compiles a program. One that cannot be compiled is not
// tried again while it is remembered. Both may wait for the device, so other programs'
// users do not wait for them.
func (c *kernelCache[V]) finish(e, old *cachedKernel[V], compile func() (V, error)) {
	defer c.running.Done()
	var value V
	var err error
	if old != nil {
		err = c.Free(old.value)
	}
	if err == nil {
		value, err = compile()
	}
	if err != nil && c.Failed != nil {
		c.Failed(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compiling = false
	if e.state = kernelFailed; err == nil {
		e.state, e.value = kernelReady, value
	}
}

// Close waits for the compiler and frees all results. None may be in use.
func (c *kernelCache[V]) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, e := range c.entries {
		if e.state == kernelReady {
			err = errors.Join(err, c.Free(e.value))
		}
	}
	c.entries = nil
	return err
}

// Count returns how many results there are.
func (c *kernelCache[V]) Count() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.state == kernelReady {
			n++
		}
	}
	return n
}
