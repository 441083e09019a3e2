//go:build cuda

package outofcore

import (
	"context"
	"encoding/binary"
	"errors"
	"unsafe"

	"gpujoin/joincore"
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
	e        Resources
	shared   *SharedJoin
	resident *resident
	windows  []window
	mine     []int // the window of each stage of the device; unclaimed, or -1: none was left
	ring     Ring
	main     *driver.Stream
	download Downloads
	staging  *driver.Host // descriptors to the device, counts and ranges from it; one half per window
	bytes    int64        // size of the descriptors
	ranges   int64        // size of the ranges
	out      [2]dividerOut
	ids      driver.Ptr // one uint8 per row: its partition
	cursors  driver.Ptr
}

const unclaimed = -2

// window is the unit of partitioning.
type window struct {
	*division
	view  View
	side  int // 0: of the first input
	index int // of the division's windows
}

// dividerOut is the result of one window on the device.
type dividerOut struct {
	descriptor, count driver.Ptr
	rows              driver.Ptr // in the layout of the host's copy
	ranges            driver.Ptr
	ranged, copied    *driver.Event
}

// divide partitions inputs, in windows of the given number of rows, with the other
// executions of a join. Windows for which r has memory are not downloaded. It returns
// ErrBudget if the host or the device has too little memory. The caller leaves the join,
// also after an error.
func divide(ctx context.Context, e Resources, t *SharedJoin, r *resident, rows int64, inputs ...*division) (err error) {
	arena := e.Main().Arena()
	defer arena.Rewind(arena.Mark())
	w := &divider{e: e, shared: t, resident: r, main: e.Main().Stream()}
	if w.download, err = e.Downloads(); err != nil {
		return err
	}
	half, err := w.cut(rows, inputs)
	if err != nil {
		return err
	}
	if w.ring, err = e.NewRing(half); err != nil {
		return err
	}
	defer w.ring.Close()
	if w.staging, err = e.Staging(2 * w.stagingBytes()); err != nil {
		return err
	}
	err = w.both(ctx)
	// After this, no copy reads or writes the host's memory, even after an
	// error.
	err = errors.Join(err, w.download.Stream().Sync(context.Background()), w.main.Sync(context.Background()))
	e.Main().Spend(joincore.DeviceWork{Syncs: 2})
	for _, part := range w.windows {
		part.view.Close()
	}
	return err
}

// cut divides the inputs into windows, allocates device memory for the largest
// one, and returns the bytes of its columns.
func (w *divider) cut(target int64, inputs []*division) (half int64, err error) {
	var rows, out int64
	for side, d := range inputs {
		w.bytes, w.ranges = max(w.bytes, d.descriptorBytes()), max(w.ranges, rangeBytes*int64(len(d.moved)))
		views := w.e.Windows(d.all, target)
		if d.windows, err = w.shared.windows(side, len(views)); err != nil {
			return 0, err
		}
		for i, v := range views {
			w.windows, w.mine = append(w.windows, window{d, v, side, i}), append(w.mine, unclaimed)
			half, rows, out = max(half, v.Bytes(d.columnsRead())), max(rows, v.Rows()), max(out, d.bytes(v.Rows()))
		}
	}
	if err := w.resident.reserve(w.e, out, 2*(half+out)+rows); err != nil {
		return 0, err
	}
	take := func(bytes int64) (at driver.Ptr) {
		if err == nil {
			at, err = w.e.Main().Arena().Take(bytes)
		}
		return at
	}
	w.ids, w.cursors = take(rows), take(countsBytes)
	for i := range w.out {
		w.out[i] = dividerOut{descriptor: take(w.bytes), count: take(countsBytes), ranges: take(w.ranges), rows: take(out)}
		for _, event := range []**driver.Event{&w.out[i].ranged, &w.out[i].copied} {
			if err == nil {
				*event, err = w.e.Event()
			}
		}
	}
	return half, err
}

// windowRows returns the rows of windows of some inputs, which may stay on the device.
func windowRows(e Resources, stay bool, inputs ...*division) int64 {
	if rows := e.Device().WindowRows; rows > 0 {
		return rows
	}
	bytes := int64(0)
	for _, d := range inputs {
		bytes = max(bytes, d.rowBytes())
	}
	return windowTarget(e.Main().Arena().Free(), bytes, stay)
}

// claim returns the window of a stage of the device, or -1 if there is none.
func (w *divider) claim(stage int) int {
	if w.mine[stage] == unclaimed {
		w.mine[stage] = w.shared.first()
		if i := w.mine[stage]; i >= 0 {
			w.ring.Use(stage%2, w.windows[i].view)
		}
	}
	return w.mine[stage]
}

// byDevice partitions windows on the device, starting with the first one, until
// it meets the cores.
func (w *divider) byDevice(ctx context.Context) error {
	done := 0
	err := Stages(ctx, len(w.windows), 1, func(ctx context.Context, stage int) {
		if i := w.claim(stage); i >= 0 {
			w.windows[i].view.Fetch(ctx, w.windows[i].columnsRead())
		}
	}, func(stage int) error {
		i := w.claim(stage)
		if i < 0 {
			return nil
		}
		defer w.windows[i].view.Close()
		if err := w.arrived(ctx, stage-2); err != nil {
			return err
		}
		done = stage + 1
		return w.divide(ctx, stage, w.windows[i])
	})
	for stage := done - 2; stage < done && err == nil; stage++ {
		err = w.arrived(ctx, stage)
	}
	return err
}

// divide queues the partitioning of one window, and its download unless it stays.
func (w *divider) divide(ctx context.Context, stage int, of window) error {
	half := stage % 2
	out := &w.out[half]
	if err := w.narrowed(ctx, of, half); err != nil {
		return err
	}
	to, stays := w.resident.take(of)
	if !stays {
		to = out.rows
		if err := newWindow(w.e, of); err != nil {
			return err
		}
	}
	if err := w.describe(ctx, of, half, to); err != nil {
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
		w.e.Main().Spend(joincore.DeviceWork{Launches: 1})
	}
	w.e.Main().Spend(joincore.DeviceWork{Bytes: of.traffic(of.view.Rows(), of.division.windows[of.index])})
	if err := w.download.Follow(); err != nil {
		return err
	}
	if !stays { // all of the scratch is copied
		if err := w.download.Copy(ctx, of.division.windows[of.index].scratch.bytes, to); err != nil {
			return err
		}
	}
	if err := w.download.Stream().CopyOut(w.counts(half), out.count); err != nil {
		return err
	}
	return w.download.Stream().Record(out.copied)
}

// stagingBytes returns the size of the half of the staging buffer that a window uses.
func (w *divider) stagingBytes() int64 { return w.bytes + countsBytes + w.ranges }

// part returns n bytes of a half of the staging buffer.
func (w *divider) part(half int, at, n int64) []byte {
	return w.staging.Bytes()[int64(half)*w.stagingBytes()+at:][:n]
}

// counts returns the part of the staging buffer that receives a window's
// counts.
func (w *divider) counts(half int) []byte { return w.part(half, w.bytes, countsBytes) }

// arrived waits until the window of a stage is where it is read from, and records the offsets of
// its partitions.
func (w *divider) arrived(ctx context.Context, stage int) error {
	if stage < 0 {
		return nil
	}
	w.e.Main().Spend(joincore.DeviceWork{Syncs: 1})
	if err := w.out[stage%2].copied.Sync(ctx); err != nil {
		return err
	}
	of, at := w.windows[w.mine[stage]], int64(0)
	host := of.division.windows[of.index]
	for _, n := range words(w.counts(stage % 2))[:1<<of.bits] {
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

// The descriptors of kernels/layout/divide.h. That of a key is of package rowid.

type divideDescriptor struct {
	Rows, Parts, PartCount, Seed uint64
	Bits, Partition              uint64
	Count, Cursor, First         uint64
	Moved, MovedCount            uint64
}

type movedDescriptor struct {
	From, To, Bytes, Narrow, Base uint64
}

// rangeDescriptor and widenDescriptor are parameters of their kernels.
type rangeDescriptor struct {
	Values, Rows, Greatest uint64
}

type widenDescriptor struct {
	From, To, Rows, Base uint64
}

// descriptorBytes returns the size of a window's descriptors.
func (d *division) descriptorBytes() int64 {
	return int64(binary.Size(divideDescriptor{}) + len(d.key.Parts)*binary.Size(rowid.PartDescriptor{}) + len(d.moved)*binary.Size(movedDescriptor{}))
}

// describe copies the descriptors of a window to the device, which writes the partitioned
// rows to the given memory. The given half of
// the staging buffer must no longer be in use.
func (w *divider) describe(ctx context.Context, of window, half int, rows driver.Ptr) error {
	out, parts := &w.out[half], of.key.Parts
	at := out.descriptor + driver.Ptr(binary.Size(divideDescriptor{}))
	low, _ := of.view.Segments()
	d := divideDescriptor{
		Rows: uint64(of.view.Rows()), Parts: uint64(at), PartCount: uint64(len(parts)), Seed: divideSeed(of.input),
		Bits: uint64(of.bits), Partition: uint64(w.ids), Count: uint64(out.count), Cursor: uint64(w.cursors), First: uint64(of.input.Starts[low]),
		Moved: uint64(at) + uint64(len(parts)*binary.Size(rowid.PartDescriptor{})), MovedCount: uint64(len(of.moved)),
	}
	var key []rowid.PartDescriptor
	for _, p := range parts {
		c, err := of.view.Column(ctx, p.Column.Column)
		if err != nil {
			return err
		}
		key = append(key, rowid.PartDescriptor{Column: c.Descriptor(false)})
	}
	var list []movedDescriptor
	host := of.division.windows[of.index]
	places, _ := of.layout(of.view.Rows(), host)
	for i, m := range of.moved {
		to := movedDescriptor{To: uint64(rows) + uint64(places[i]), Bytes: uint64(m.bytes)}
		if how := host.how(i); how.narrow {
			to.Narrow, to.Base = 1, how.base
		}
		if m.kind != rowid.PayloadRowIDs {
			c, err := of.view.Column(ctx, m.column)
			if err != nil {
				return err
			}
			to.From = uint64(c.Values)
			if m.kind == rowid.PayloadValidity {
				to.From = uint64(c.Validity)
			}
		}
		list = append(list, to)
	}
	staging := w.part(half, 0, w.bytes)
	b := staging[:0]
	for _, part := range []any{d, key, list} {
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return w.main.CopyIn(out.descriptor, staging[:len(b)])
}
