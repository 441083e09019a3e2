//go:build cuda

package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gpujoin/joincore/cuda/driver"

	"golang.org/x/sys/unix"
)

// bench is a device with memory on both sides of the link.
type bench struct {
	Config
	device   *driver.Context
	platform Platform
	stream   *driver.Stream
	kernels  *Threads
	arena    *driver.Arena
	far      driver.Ptr    // device memory for the largest size
	near     []byte        // mapped host memory for the largest size
	total    driver.Ptr    // the sum on the device
	answer   *driver.Host  // where it is copied to
	point    *driver.Event // that finish waits for
	seed     uint64        // of the last bytes that were made
}

// open takes everything that a measurement needs. close gives back what is
// there after an error, too.
func open(cfg Config) (b *bench, err error) {
	b = &bench{Config: cfg}
	if b.device, err = driver.Open(cfg.Ordinal); err != nil {
		return nil, err
	}
	for _, take := range []func() error{
		func() (err error) { b.platform, err = PlatformOf(b.device); return err },
		func() (err error) { b.stream, err = b.device.NewStream(); return err },
		func() (err error) { b.point, err = b.device.NewEvent(false); return err },
		func() (err error) { b.answer, err = b.device.Pinned(8); return err },
		func() (err error) { b.kernels, err = LoadThreads(b.device); return err },
		b.takeMemory,
	} {
		if err := take(); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

func (b *bench) takeMemory() (err error) {
	most := slices.Max(b.Sizes)
	if b.arena, err = b.device.NewArena(most + 2*driver.Line); err != nil {
		return fmt.Errorf("for a transfer of %s: %w", size(most), err)
	}
	if b.far, err = b.arena.Take(most); err != nil {
		return err
	}
	if b.total, err = b.arena.Take(8); err != nil {
		return err
	}
	b.near, err = mapHost(most)
	return err
}

func (b *bench) close() error {
	var errs []error
	if b.stream != nil {
		errs = append(errs, b.stream.Close())
	}
	if b.point != nil {
		errs = append(errs, b.point.Close())
	}
	if b.answer != nil {
		errs = append(errs, b.answer.Free())
	}
	if b.kernels != nil {
		errs = append(errs, b.kernels.Close())
	}
	if b.arena != nil {
		errs = append(errs, b.arena.Close())
	}
	if b.near != nil {
		errs = append(errs, unix.Munmap(b.near))
	}
	return errors.Join(append(errs, b.device.Close())...)
}

// PlatformOf describes the platform of a device.
func PlatformOf(c *driver.Context) (p Platform, err error) {
	p.HostRegister, p.PageableAccess = c.Info().HostRegister, c.Info().PageableAccess
	if p.HostPageTables, err = c.HostPageTables(); err != nil {
		return p, err
	}
	if p.ConcurrentManaged, err = c.ConcurrentManaged(); err != nil {
		return p, err
	}
	p.Free, err = c.FreeMemory()
	return p, err
}

// finish waits until the stream has done all its work, without the pauses of
// Sync: they would be a part of what is measured.
func (b *bench) finish(ctx context.Context) error {
	if err := b.stream.Record(b.point); err != nil {
		return err
	}
	return reached(ctx, b.point)
}

// reached asks for an event until it is there.
func reached(ctx context.Context, e *driver.Event) error {
	for {
		done, err := e.Done()
		if done || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// copy queues a copy by a copy engine.
func (b *bench) copy(d Direction, far driver.Ptr, near []byte) error {
	if d == In {
		return b.stream.CopyIn(far, near)
	}
	return b.stream.CopyOut(near, far)
}

// pull queues a copy by threads of the device, which see the host's memory at
// near.
func (b *bench) pull(d Direction, far, near driver.Ptr, n int64) error {
	if d == In {
		return b.kernels.Move(b.stream, far, near, n)
	}
	return b.kernels.Move(b.stream, near, far, n)
}

// farSum is the sum of n bytes that the device computes.
func (b *bench) farSum(ctx context.Context, at driver.Ptr, n int64) (uint64, error) {
	err := errors.Join(
		b.stream.Memset(b.total, 0, 8),
		b.kernels.Sum(b.stream, at, n, b.total),
		b.stream.CopyOut(b.answer.Bytes(), b.total),
	)
	if err == nil {
		err = b.stream.Sync(ctx)
	}
	return b.answer.Words()[0], err
}
