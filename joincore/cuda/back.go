//go:build cuda

package cuda

import (
	"context"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
)

// copyBack queues a copy to the host: to where the memory lies, if it is
// registered, else through the lane's buffer, by whose halves it waits.
func (e *execution) copyBack(ctx context.Context, to []byte, from driver.Ptr) error {
	l := e.site.back
	if e.p.registered.holds(to) {
		return l.stream.CopyOut(to, from)
	}
	size := int(l.bytes / 2)
	half := func(at int) []byte { return l.host.Bytes()[at/size%2*size:][:min(size, len(to)-at)] }
	queue := func(at int) error {
		if at >= len(to) {
			return nil
		}
		if err := l.stream.CopyOut(half(at), from+driver.Ptr(at)); err != nil {
			return err
		}
		return l.stream.Record(l.half[at/size%2])
	}
	if err := queue(0); err != nil {
		return err
	}
	for at := 0; at < len(to); at += size {
		if err := queue(at + size); err != nil {
			return err
		}
		e.site.main.Spend(rowid.Cost{Syncs: 1})
		if err := l.half[at/size%2].Sync(ctx); err != nil {
			return err
		}
		piece := half(at)
		err := inPieces(len(piece), func(low, high int) error {
			copy(to[at+low:at+high], piece[low:high])
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// backLane returns the lane on which data goes back to the host.
func (e *execution) backLane() (*lane, error) {
	if e.site.back.queue != nil {
		return e.site.back, nil
	}
	return e.site.back, e.site.equip(e.p, e.site.back)
}
