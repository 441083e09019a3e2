//go:build cuda

package driver

import (
	"errors"
	"sync"
)

// Library has kernels that are modules of their own. Each is loaded on first use,
// which takes some milliseconds and a little device memory. It is safe for concurrent
// use.
type Library struct {
	c     *Context
	image func(kernel string) ([]byte, error)

	mu      sync.Mutex
	modules map[string]*Module
}

// NewLibrary returns a library. image returns the fatbin, cubin or PTX of the kernel
// of a given name.
func (c *Context) NewLibrary(image func(kernel string) ([]byte, error)) *Library {
	return &Library{c: c, image: image, modules: map[string]*Module{}}
}

// Kernel returns a kernel by name, loading it if necessary.
func (l *Library) Kernel(name string) (*Kernel, error) {
	m, err := l.module(name)
	if err != nil {
		return nil, err
	}
	return m.Kernel(name)
}

func (l *Library) module(kernel string) (*Module, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.modules[kernel]; m != nil {
		return m, nil
	}
	image, err := l.image(kernel)
	if err != nil {
		return nil, err
	}
	m, err := l.c.Load(image)
	if err == nil {
		l.modules[kernel] = m
	}
	return m, err
}

// Unload frees all kernels.
func (l *Library) Unload() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, m := range l.modules {
		err = errors.Join(err, m.Unload())
	}
	clear(l.modules)
	return err
}
