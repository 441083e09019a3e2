//go:build cuda

package outofcore

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
)

const (
	divideAlign = 32  // GJ_DIVIDE_ALIGN
	divideFan   = 256 // GJ_DIVIDE_FAN
	countsBytes = 4 * divideFan
)

// divider partitions inputs window by window. Three windows are in flight: one
// is uploaded, one is partitioned on the device and one is downloaded.
type divider struct {
	e        Execution
	windows  []window
	main     *driver.Stream
	download Downloads
	staging  *driver.Host // descriptors to the device, counts from it; one half per window
	bytes    int64        // size of the descriptors
	out      [2]dividerOut
	ids      driver.Ptr // one uint8 per row: its partition
	cursors  driver.Ptr

	mu        sync.Mutex
	low, high int // windows [low, high) are unclaimed
}

// window is the unit of partitioning.
type window struct {
	*division
	view  View
	index int // of the division's windows
}

// dividerOut is the result of one window on the device.
type dividerOut struct {
	descriptor, count driver.Ptr
	rows              driver.Ptr // in the layout of the host's copy
	copied            *driver.Event
}

// divide partitions inputs. It returns ErrBudget if the host or the device has
// too little memory; it has freed its memory then.
func divide(ctx context.Context, e Execution, inputs ...*division) (err error) {
	arena := e.Main().Arena()
	defer arena.Rewind(arena.Mark())
	w := &divider{e: e, main: e.Main().Stream()}
	if w.download, err = e.Downloads(); err != nil {
		return err
	}
	half, err := w.cut(inputs)
	if err != nil {
		return err
	}
	ring, err := e.NewRing(half)
	if err != nil {
		return err
	}
	defer ring.Close()
	for i := range w.windows {
		ring.Use(i%2, w.windows[i].view)
	}
	if w.staging, err = e.Staging(2 * (w.bytes + countsBytes)); err != nil {
		return err
	}
	err = w.both(ctx)
	// After this, no copy reads or writes the host's memory, even after an
	// error.
	err = errors.Join(err, w.download.Stream().Sync(context.Background()), w.main.Sync(context.Background()))
	e.Main().Spend(rowid.Cost{Syncs: 2})
	for _, part := range w.windows {
		part.view.Close()
	}
	if err != nil {
		for _, d := range inputs {
			d.free()
		}
	}
	return err
}

// cut divides the inputs into windows, allocates device memory for the largest
// one, and returns the bytes of its columns.
func (w *divider) cut(inputs []*division) (half int64, err error) {
	var bytes, rows, out int64
	for _, d := range inputs {
		bytes = max(bytes, d.rowBytes())
	}
	target := windowRows(w.e, bytes)
	for _, d := range inputs {
		w.bytes = max(w.bytes, d.descriptorBytes())
		d.windows = nil
		for i, v := range w.e.Windows(d.all, target) {
			w.windows, d.windows = append(w.windows, window{d, v, i}), append(d.windows, divided{})
			half, rows, out = max(half, v.Bytes(d.columnsRead())), max(rows, v.Rows()), max(out, d.bytes(v.Rows()))
		}
	}
	take := func(bytes int64) (at driver.Ptr) {
		if err == nil {
			at, err = w.e.Main().Arena().Take(bytes)
		}
		return at
	}
	w.ids, w.cursors = take(rows), take(countsBytes)
	for i := range w.out {
		w.out[i] = dividerOut{descriptor: take(w.bytes), count: take(countsBytes), rows: take(out)}
		if err == nil {
			w.out[i].copied, err = w.e.Event()
		}
	}
	return half, err
}

// mostRows bounds the rows of a window: enough to fill the device, few enough that
// the first windows are partitioned early.
const mostRows = 1 << 24

// windowRows returns the rows of a window whose rows have the given number of
// bytes. Memory is needed for two windows being uploaded and two being
// downloaded.
func windowRows(e Execution, bytes int64) int64 {
	if rows := e.Device().WindowRows; rows > 0 {
		return rows
	}
	return max(min(mostRows, e.Main().Arena().Free()/10*9/(4*bytes+2)), 1)
}

// byDevice partitions windows on the device, starting with the first one, until
// it meets the cores.
func (w *divider) byDevice(ctx context.Context) error {
	mine := 0
	err := Stages(ctx, len(w.windows), func(ctx context.Context, i int) {
		if w.claim(i) {
			w.windows[i].view.Fetch(ctx, w.windows[i].columnsRead())
		}
	}, func(i int) error {
		if !w.claim(i) {
			return nil
		}
		defer w.windows[i].view.Close()
		if err := w.arrived(ctx, i-2); err != nil {
			return err
		}
		mine = i + 1
		return w.divide(ctx, i)
	})
	for i := mine - 2; i < mine && err == nil; i++ {
		err = w.arrived(ctx, i)
	}
	return err
}

// divide queues the partitioning of one window and its download.
func (w *divider) divide(ctx context.Context, i int) error {
	of, out := w.windows[i], &w.out[i%2]
	host, err := w.newWindow(of)
	if err != nil {
		return err
	}
	if err := w.describe(ctx, of, i%2); err != nil {
		return err
	}
	if err := w.main.Memset(out.count, 0, countsBytes); err != nil {
		return err
	}
	for _, name := range []string{"gj_divide_count", "gj_divide_start", "gj_divide_place"} {
		k, err := w.e.Device().kernels.Kernel(name)
		if err != nil {
			return err
		}
		items := int64(1)
		if k.Rows > 0 {
			items = (of.view.Rows() + int64(k.Rows) - 1) / int64(k.Rows)
		}
		if err := k.Launch(w.main, k.Grid(items), uint64(out.descriptor)); err != nil {
			return err
		}
		w.e.Main().Spend(rowid.Cost{Launches: 1})
	}
	w.e.Main().Spend(rowid.Cost{Bytes: of.traffic(of.view.Rows())})
	if err := w.download.Follow(); err != nil {
		return err
	}
	if err := w.download.Copy(ctx, host.scratch.bytes, out.rows); err != nil {
		return err
	}
	if err := w.download.Stream().CopyOut(w.counts(i%2), out.count); err != nil {
		return err
	}
	return w.download.Stream().Record(out.copied)
}

// counts returns the part of the staging buffer that receives a window's
// counts.
func (w *divider) counts(half int) []byte {
	at := int64(half)*(w.bytes+countsBytes) + w.bytes
	return w.staging.Bytes()[at:][:countsBytes]
}

// arrived waits until a window has been downloaded and records the offsets of
// its partitions.
func (w *divider) arrived(ctx context.Context, i int) error {
	if i < 0 {
		return nil
	}
	w.e.Main().Spend(rowid.Cost{Syncs: 1})
	if err := w.out[i%2].copied.Sync(ctx); err != nil {
		return err
	}
	of, at := w.windows[i], int64(0)
	host := &of.division.windows[of.index]
	for _, n := range words(w.counts(i % 2))[:1<<of.bits] {
		host.start = append(host.start, at)
		host.count = append(host.count, int64(n))
		at += (int64(n) + divideAlign - 1) / divideAlign * divideAlign
	}
	return nil
}

// words views bytes aligned to 4 as a slice of uint32.
func words(b []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
