//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// Module is loaded device code. It is safe for concurrent use.
type Module struct {
	c   *Context
	mod cu.Module

	mu      sync.Mutex
	kernels map[string]*Kernel
}

// hashSeed is the name of the number in constant memory that kernels mix into keys
// before hashing (kernels/block/hash.cuh). Modules that do not hash keys lack it.
const hashSeed = "gj_hash_seed"

// Load loads a fatbin, cubin or PTX and sets its hash seed. Unload frees it.
func (c *Context) Load(image []byte) (*Module, error) {
	m := &Module{c: c, kernels: map[string]*Kernel{}}
	err := c.with("cuModuleLoadData", func() (err error) {
		m.mod, err = cu.LoadData(string(image) + "\x00")
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := m.setSeed(c.HashSeed()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", hashSeed, err), m.Unload())
	}
	return m, nil
}

// Compile compiles PTX to machine code for the device, which Load loads. It takes as
// long as a compiler does, and does not use the device.
func (c *Context) Compile(ptx string) ([]byte, error) {
	code, messages, err := compile(c.ctx, ptx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", c.note(err), messages)
	}
	return code, nil
}

// setSeed writes the seed into constant memory, if the module has one, and reads it
// back, which completes the copy.
func (m *Module) setSeed(seed uint64) error {
	at, bytes, err := m.global(hashSeed)
	var e *Error
	if errors.As(err, &e) && e.Code == codeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if bytes != 8 {
		return fmt.Errorf("%d bytes in place of 8", bytes)
	}
	err = m.c.with("cuMemcpyHtoD", func() error { return cu.MemcpyHtoD(at, unsafe.Pointer(&seed), 8) })
	if err != nil {
		return err
	}
	set, err := m.constants(hashSeed, 1)
	if err == nil && set[0] != seed {
		err = fmt.Errorf("%#x in place of %#x", set[0], seed)
	}
	return err
}

// Unload frees the module and its kernels, if m is not nil.
func (m *Module) Unload() error {
	if m == nil {
		return nil
	}
	return m.c.with("cuModuleUnload", func() error { return m.mod.Unload() })
}

// Kernel returns a kernel by name, with the launch parameters of NAME_launch, a
// uint64[5] in constant memory.
func (m *Module) Kernel(name string) (*Kernel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.kernels[name]; k != nil {
		return k, nil
	}
	k := &Kernel{c: m.c, Name: name}
	err := m.c.with("cuModuleGetFunction", func() (err error) {
		k.function, err = m.mod.Function(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	facts, err := m.constants(name+"_launch", 5)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	k.Threads, k.Blocks, k.Shared = int(facts[0]), int(facts[1]), int(facts[2])
	k.Rows, k.Fan = int(facts[3]), int(facts[4])
	if err := k.allow(k.Shared); err != nil {
		return nil, err
	}
	m.kernels[name] = k
	return k, nil
}

// Constants reads an array of 8-byte numbers from the module's constant memory.
func (m *Module) Constants(name string) ([]uint64, error) { return m.constants(name, 0) }

// constants reads n numbers, or all if n is 0.
func (m *Module) constants(name string, n int) ([]uint64, error) {
	at, bytes, err := m.global(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n != 0 && bytes != int64(8*n) {
		return nil, fmt.Errorf("%s has %d bytes in place of %d", name, bytes, 8*n)
	}
	numbers := make([]uint64, bytes/8)
	err = m.c.with("cuMemcpyDtoH", func() error {
		return cu.MemcpyDtoH(unsafe.Pointer(unsafe.SliceData(numbers)), at, 8*int64(len(numbers)))
	})
	return numbers, err
}

// global returns the address and the bytes of a global symbol.
func (m *Module) global(name string) (at cu.DevicePtr, bytes int64, err error) {
	err = m.c.with("cuModuleGetGlobal", func() (err error) {
		at, bytes, err = m.mod.Global(name)
		return err
	})
	return at, bytes, err
}

// Kernel is a function of a module with its launch parameters.
type Kernel struct {
	Name    string
	Threads int // per block
	Blocks  int // per multiprocessor
	Shared  int // bytes of dynamic shared memory
	Rows    int // of a tile or a chunk; the kernel defines which
	Fan     int // the most partitions; the kernel defines what else

	c        *Context
	function cu.Function

	mu      sync.Mutex
	allowed int // bytes of dynamic shared memory that a launch may request
}

// defaultShared is the shared memory that a kernel may use without a request.
const defaultShared = 48 << 10

// Launch queues the kernel on the stream with its own number of threads and shared
// memory. Each argument is one 8-byte parameter; or the kernel has one parameter, a
// structure of as many 8-byte fields. A grid of 0 blocks launches nothing.
func (k *Kernel) Launch(s *Stream, grid int, args ...uint64) error {
	return k.LaunchShared(s, grid, k.Shared, args...)
}

// LaunchShared is Launch with the given bytes of dynamic shared memory.
func (k *Kernel) LaunchShared(s *Stream, grid, shared int, args ...uint64) error {
	return k.LaunchThreads(s, grid, k.Threads, shared, args...)
}

// LaunchThreads is LaunchShared with the given threads per block, at most Threads.
func (k *Kernel) LaunchThreads(s *Stream, grid, threads, shared int, args ...uint64) error {
	if grid == 0 {
		return nil
	}
	if len(args) > maxParameters {
		return fmt.Errorf("kernel %s: %w", k.Name, &Error{Call: "cuLaunchKernel", Code: codeInvalidValue})
	}
	if err := k.allow(shared); err != nil {
		return err
	}
	if err := k.c.note(launch(k.c.ctx, k.function, grid, threads, shared, s.stream, args)); err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return nil
}

// Grid returns the number of blocks that fill the device, at most `items`.
func (k *Kernel) Grid(items int64) int {
	return int(min(items, int64(max(k.Blocks, 1)*k.c.info.SMs)))
}

// allow raises the dynamic shared memory that the kernel may request.
func (k *Kernel) allow(shared int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if shared <= max(k.allowed, defaultShared/2) {
		return nil
	}
	if err := k.c.note(allowShared(k.c.ctx, k.function, shared)); err != nil {
		return fmt.Errorf("kernel %s, %d bytes of shared memory: %w", k.Name, shared, err)
	}
	k.allowed = shared
	return nil
}

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
