//go:build cuda

package cuda

import (
	"context"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/rowid"
)

// download queues a copy to the host: directly if the memory is registered,
// otherwise staged through the halves of the transfer stream's buffer, for
// which it waits.
func (e *execution) download(ctx context.Context, to []byte, from driver.Ptr) error {
	l := e.workspace.download
	if e.p.pageLocked(to) {
		return l.stream.CopyOut(to, from)
	}
	size := int(l.scratchBytes / 2)
	half := func(at int) []byte { return l.staging.Bytes()[at/size%2*size:][:min(size, len(to)-at)] }
	queue := func(at int) error {
		if at >= len(to) {
			return nil
		}
		if err := l.stream.CopyOut(half(at), from+driver.Ptr(at)); err != nil {
			return err
		}
		return l.stream.Record(l.halfCopied[at/size%2])
	}
	if err := queue(0); err != nil {
		return err
	}
	for at := 0; at < len(to); at += size {
		if err := queue(at + size); err != nil {
			return err
		}
		e.workspace.main.Spend(rowid.Cost{Syncs: 1})
		if err := l.halfCopied[at/size%2].Sync(ctx); err != nil {
			return err
		}
		piece := half(at)
		err := hostinput.InPieces(len(piece), func(low, high int) error {
			copy(to[at+low:at+high], piece[low:high])
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// downloadStream returns the transfer stream for downloads.
func (e *execution) downloadStream() (*transferStream, error) {
	if e.workspace.download.queue != nil {
		return e.workspace.download, nil
	}
	return e.workspace.download, e.workspace.prepare(e.p, e.workspace.download)
}

// transferMethod returns how a piece of host memory is copied to or from the
// device.
func (p *Provider) transferMethod(b []byte) links.Method {
	return p.platform.Choose(p.pageLocked(b))
}

// pageLocked reports whether memory is page-locked for copies of the device.
func (p *Provider) pageLocked(b []byte) bool { return p.registered.holds(b) || slabs.holds(b) }

// hostToDevice queues a direct copy from host memory that needs no staging. The
// memory must not change until the stream has been synchronised.
func (p *Provider) hostToDevice(s *driver.Stream, to driver.Ptr, from []byte) error {
	if p.transferMethod(from) == links.Coherence {
		return p.threads.Move(s, to, links.Address(from), int64(len(from)))
	}
	return s.CopyIn(to, from)
}

// deviceToHost queues a direct copy to host memory that needs no staging.
func (p *Provider) deviceToHost(s *driver.Stream, to []byte, from driver.Ptr) error {
	if p.transferMethod(to) == links.Coherence {
		return p.threads.Move(s, links.Address(to), from, int64(len(to)))
	}
	return s.CopyOut(to, from)
}
