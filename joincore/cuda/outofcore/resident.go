//go:build cuda

package outofcore

import (
	"context"
	"errors"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// resident is device memory for partitioned windows that are not downloaded, as in a hybrid
// hash join. Co-partitions copy their pieces from it, on this device and on those that reach
// its memory. The first windows that the device partitions stay, as many as there is memory
// for. The zero value has no memory.
type resident struct {
	allowed     bool
	copartition int64 // bytes that the join of a co-partition takes

	at, end driver.Ptr // not taken yet
	free    func()     // nil: there is no memory
	windows []window
}

// canStay reports whether windows of some sides may stay on the devices: the host does not
// read them, and each device reaches the memory of all others.
func (t *SharedJoin) canStay(sides ...Side) bool {
	for _, s := range sides {
		if s.Numbered { // the host reads row ids
			return false
		}
	}
	return t.connected
}

// mayStay returns the windows of the join that stay; they have no memory yet.
func (j *split) mayStay() resident {
	if !j.stays || j.e.Device().By == CoresAlone {
		return resident{}
	}
	return resident{allowed: true, copartition: copartitionBytes(j.build.bytes(), j.probe.bytes(), j.bits)}
}

// reserve takes memory for windows of at most the given bytes; those in flight take inFlight
// bytes. It takes none if too little is left for one window.
func (r *resident) reserve(e Resources, window, inFlight int64) (err error) {
	bytes := residentBytes(e.Main().Arena().Free(), inFlight, r.copartition)
	if limit := e.Device().ResidentBytes; limit != 0 {
		bytes = limit
	}
	if !r.allowed || bytes < window {
		return nil
	}
	if r.at, r.free, err = e.Reserve(bytes); errors.Is(err, joincore.ErrBudget) {
		r.free = nil
		return nil
	}
	r.end = r.at + driver.Ptr(bytes)
	return err
}

// take returns memory for a window; ok is false if too little is left.
func (r *resident) take(w window) (at driver.Ptr, ok bool) {
	of := w.division.windows[w.index]
	places, bytes := w.layout(w.view.Rows(), of)
	if bytes > int64(r.end-r.at) {
		return 0, false
	}
	at = r.at
	r.at += driver.Ptr(driver.Lines(bytes))
	for _, place := range places {
		of.resident = append(of.resident, at+driver.Ptr(place))
	}
	r.windows = append(r.windows, w)
	return at, true
}

// evict downloads the windows and frees the memory. Nothing may read them meanwhile.
func (r *resident) evict(ctx context.Context, e Resources) error {
	download, err := e.Downloads()
	for _, w := range r.windows {
		if err != nil {
			break
		}
		of := w.division.windows[w.index]
		if err = newWindow(e, w); err == nil {
			err = download.Copy(ctx, of.scratch.bytes, of.resident[0])
		}
		of.resident = nil
	}
	if len(r.windows) > 0 && download != nil {
		e.Main().Spend(joincore.DeviceWork{Syncs: 1})
		err = errors.Join(err, download.Stream().Sync(context.Background()))
	}
	r.release()
	return err
}

// release frees the memory. Nothing may read it any more.
func (r *resident) release() {
	if r.free != nil {
		r.free()
	}
	*r = resident{}
}
