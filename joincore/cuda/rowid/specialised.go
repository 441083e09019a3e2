//go:build cuda

package rowid

import (
	"errors"
	"time"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// Specialise says when kernels are compiled for single programs. The package's documentation says what
// such a kernel gains; compiling took 0.57 s for each program on an H100 (docs/internals/gpu-kernels.md).
type Specialise struct {
	// Text returns the PTX of the kernels (kernels.Fixed).
	Text func(major, minor int) (string, error)
	// After is how many rows a program must have been interpreted for; 0: chosen.
	After int64
	// Wait makes launches wait for the compiler, for tests and benchmarks.
	Wait bool
	// Failed is told why a program stays interpreted; nil: nothing is.
	Failed func(error)
}

const (
	// specialiseAfter is the default of Specialise.After. A compilation keeps a core busy
	// for about a second, which pays only for programs that run on many rows.
	specialiseAfter = 1 << 26
	// mostSpecialised bounds the kernels that are kept.
	mostSpecialised = 64
)

// specialisedKernel is a kernel with its module.
type specialisedKernel struct {
	module *driver.Module
	kernel *driver.Kernel
}

// Specialise makes kernels for single programs of programs that group many rows. It is
// called before the first queue is made.
func (k *Kernels) Specialise(s Specialise) {
	if s.After == 0 {
		s.After = specialiseAfter
	}
	k.text = s.Text
	k.specialised = &kernelCache[specialisedKernel]{
		After: s.After, Wait: s.Wait, Most: mostSpecialised, Failed: s.Failed,
		Free: func(s specialisedKernel) error { return s.module.Unload() },
	}
}

// Specialised returns how many kernels were compiled for single programs and kept, and
// how long all compilations took.
func (k *Kernels) Specialised() (kernels int, took time.Duration) {
	if k.specialised == nil {
		return 0, 0
	}
	return k.specialised.Count(), time.Duration(k.compiling.Load())
}

// Close waits for the compiler and unloads all kernels. No queue may be in use.
func (k *Kernels) Close() error {
	var err error
	if k.specialised != nil {
		err = k.specialised.Close()
	}
	return errors.Join(err, k.module.Unload(), k.groups.Unload())
}

// specialisedFor returns the kernel that was compiled for a launch, or nil. The caller
// calls release behind the launch.
func (k *Kernels) specialisedFor(l *groupLaunch, keyWords int) (kernel *driver.Kernel, release func()) {
	if k.specialised == nil {
		return nil, func() {}
	}
	fixed := fixedOf(&l.job, l.program, l.columns, keyWords)
	name := "gj_fixed_" + l.variant
	s, release, ok := k.specialised.Use(fixedKey(name, fixed), int64(l.job.Rows), func() (specialisedKernel, error) { return k.compile(name, fixed) })
	if !ok {
		return nil, func() {}
	}
	return s.kernel, release
}

// compile makes a kernel for one program.
func (k *Kernels) compile(name string, fixed *Fixed) (s specialisedKernel, err error) {
	defer device.Recover(&err) // jobs go on without the kernel
	start := time.Now()
	defer func() { k.compiling.Add(int64(time.Since(start))) }()
	info := k.context.Info()
	text, err := k.text(info.Major, info.Minor)
	if err != nil {
		return s, err
	}
	if text, err = SpecialiseText(text, name, fixed); err != nil {
		return s, err
	}
	code, err := k.context.Compile(text)
	if err != nil {
		return s, err
	}
	if s.module, err = k.context.Load(code); err != nil {
		return s, err
	}
	if s.kernel, err = s.module.Kernel(name); err != nil {
		return s, errors.Join(err, s.module.Unload())
	}
	return s, nil
}
