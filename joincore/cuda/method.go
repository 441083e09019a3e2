//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/device"
)

// Inputs reach the device by the method that Config.Method demands, in pieces of a column of a
// segment. Pull methods copy too: kernels move a piece from host memory to the place of the column
// in device memory, because the joins read a column more than once. What a join out of core has
// partitioned in host memory is no input, and is transferred as suits the platform.

// TransferMethods returns by which methods inputs can reach the device, and why not by the others.
func (p *Provider) TransferMethods() (list []device.TransferMethod) {
	for _, m := range links.Methods() {
		list = append(list, device.TransferMethod{Name: m.Name(), Reason: p.platform.Unable(m)})
	}
	return list
}

// methodNote returns why inputs are not transferred by the method that is demanded, or "".
func (p *Provider) methodNote() string {
	if p.unable == "" {
		return ""
	}
	return fmt.Sprintf("inputs are not transferred by the method %s: %s", p.demanded.Name(), p.unable)
}

// TransferReason returns why some inputs were not transferred by the method that was demanded; "":
// all were, or none was.
func (e *execution) TransferReason() string {
	if why := e.workspace.otherwise.Load(); why != nil {
		return fmt.Sprintf("not %s: %s", e.workspace.gpu.demanded.Name(), *why)
	}
	return ""
}

// instead notes why the execution transfers as suits the platform. The first reason counts.
func (w *workspace) instead(why string) { w.otherwise.CompareAndSwap(nil, &why) }

// inputMethod returns the method for a piece of an input.
func (w *workspace) inputMethod(from []byte) links.Method {
	g := w.gpu
	switch {
	case g.unable != "":
		w.instead(g.unable)
	case (g.method == links.Pinned || g.method == links.ZeroCopy) && !g.pageLocked(from):
		w.instead("the memory is not page-locked")
	case g.method != "":
		return g.method
	}
	return g.transferMethod(from)
}

// copyInput queues the copy of a piece of an input on the stream of uploads.
func (w *workspace) copyInput(ctx context.Context, to driver.Ptr, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return w.copyBy(ctx, w.inputMethod(from), to, from)
}

// copyBy queues a copy by a method.
func (w *workspace) copyBy(ctx context.Context, method links.Method, to driver.Ptr, from []byte) error {
	l := w.upload
	switch method {
	case links.Pinned:
		if !l.batching {
			return l.stream.CopyIn(to, from)
		}
		l.batch.Add(to, from)
		if l.batch.Len() < driver.BatchCopies {
			return nil
		}
		return l.batch.Queue(l.stream)
	case links.Pageable:
		return l.stream.CopyIn(to, from)
	case links.Dynamic:
		return w.copyLocking(ctx, to, from)
	case links.ZeroCopy, links.Coherence:
		return w.gpu.threads.Move(l.stream, to, links.Address(from), int64(len(from)))
	case links.Prefetch, links.Migration:
		return w.copyManaged(ctx, method, to, from)
	}
	return w.stage(ctx, to, from)
}

// stage queues a copy through the transfer stream's buffer.
func (w *workspace) stage(ctx context.Context, to driver.Ptr, from []byte) error {
	return w.fill(ctx, to, int64(len(from)), 1, func(buffer []byte, at int64) error {
		return copyInPieces(buffer, from[at:])
	})
}

// copyInPieces fills a buffer with the bytes of another, by several cores if that pays.
func copyInPieces(to, from []byte) error {
	return hostinput.InPieces(len(to), func(low, high int) { copy(to[low:high], from[low:high]) })
}

// lockedPiece is the most bytes that are page-locked for the duration of their copy.
const lockedPiece = 64 << 20

// locking is held while pages are locked for copies: no page can be locked twice, and pieces of
// several columns, which several executions may copy, can be on one page.
var locking sync.Mutex

// copyLocking page-locks a piece of memory while the previous one is copied, and unlocks it after its
// copy. If the driver refuses that, the rest is staged.
func (w *workspace) copyLocking(ctx context.Context, to driver.Ptr, from []byte) (err error) {
	locking.Lock()
	defer locking.Unlock()
	var before *driver.Registration
	defer func() { err = errors.Join(err, w.unlock(before)) }()
	for len(from) > 0 {
		n := min(lockedPiece-offsetInPage(from), len(from)) // pieces end where pages do
		next, err := w.gpu.context.Register(from[:n])
		if err != nil {
			if w.gpu.context.Lost() != nil {
				return err
			}
			w.instead(err.Error())
			return w.stage(ctx, to, from)
		}
		previous := before
		before = next
		if err := w.unlock(previous); err != nil {
			return err
		}
		if err := w.upload.stream.CopyIn(to, from[:n]); err != nil {
			return err
		}
		to, from = to+driver.Ptr(n), from[n:]
	}
	return nil
}

// unlock waits for the uploads so far and unlocks a piece, if r is not nil. The wait does not end
// early: copies must not read memory that is no longer locked.
func (w *workspace) unlock(r *driver.Registration) error {
	if r == nil {
		return nil
	}
	return errors.Join(w.upload.stream.Sync(context.Background()), r.Close())
}

// copyManaged queues a copy through managed memory, whose pages migrate to the device before a kernel
// moves the bytes, or when it does. They migrate back on a stream of their own.
func (w *workspace) copyManaged(ctx context.Context, method links.Method, to driver.Ptr, from []byte) error {
	if err := w.prepareManaged(); err != nil {
		if w.gpu.context.Lost() != nil {
			return err
		}
		w.instead(err.Error())
		return w.copyBy(ctx, w.gpu.transferMethod(from), to, from)
	}
	l, size := w.upload, w.upload.scratchBytes/2
	for len(from) > 0 {
		half := l.turn
		l.turn = 1 - half
		if err := l.halfCopied[half].Sync(ctx); err != nil {
			return err
		}
		n, memory := min(size, int64(len(from))), w.managed[half]
		if err := copyInPieces(memory.Bytes()[:n], from); err != nil {
			return err
		}
		if method == links.Prefetch {
			if err := memory.ToDevice(l.stream, n); err != nil {
				return err
			}
		}
		if err := errors.Join(w.gpu.threads.Move(l.stream, to, memory.DevicePointer(), n), l.stream.Then(w.back),
			memory.ToHost(w.back, n), w.back.Record(l.halfCopied[half])); err != nil {
			return err
		}
		to, from = to+driver.Ptr(n), from[n:]
	}
	return nil
}

// prepareManaged allocates managed memory as large as the buffer of uploads. All workspaces of a
// device together have less than links.JoinUnified.
func (w *workspace) prepareManaged() (err error) {
	if w.back == nil {
		if w.back, err = w.newStream(); err != nil {
			return err
		}
	}
	for i := range w.managed {
		if w.managed[i] == nil {
			if w.managed[i], err = w.gpu.context.Managed(w.upload.scratchBytes / 2); err != nil {
				return err
			}
		}
	}
	return nil
}

// offsetInPage returns how far behind the beginning of a page memory begins.
func offsetInPage(b []byte) int { return int(spanOf(b).at) % os.Getpagesize() }
