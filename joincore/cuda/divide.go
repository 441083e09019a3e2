//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"unsafe"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// The descriptors of kernels/divide.h.

type divideDescriptor struct {
	Rows, Parts, PartCount, Seed uint64
	Bits, Partition              uint64
	Count, Cursor, First         uint64
	Moved, MovedCount            uint64
}

type movedDescriptor struct {
	From, To, Bytes uint64
}

// Of kernels/general.h.

type columnDescriptor struct {
	Values, Validity, Positions uint64
	Width, Probe                uint64
}

type partDescriptor struct {
	Column columnDescriptor
	Bits   uint64
}

const (
	divideAlign   = 32  // GJ_DIVIDE_ALIGN
	divideFan     = 256 // GJ_DIVIDE_FAN
	countsBytes   = 4 * divideFan
	maxDivideBits = 8
	// divideSeed makes the hash another one than those that joins use.
	divideSeed = 0x5bd1e9955bd1e995
)

// divider divides windows of an input: one crosses the link while the one
// before is moved on the device, and the one before that goes back.
type divider struct {
	*division
	key   *device.Key
	parts []*view
	main  *driver.Stream
	back  *lane
	desk  *driver.Host // descriptors to the device, counts from it; a half each
	bytes int64        // of descriptors
	out   [2]dividerOut
	ids   driver.Ptr // uint8 a row: its partition
	at    driver.Ptr // cursors
}

// dividerOut is what one window leaves on the device.
type dividerOut struct {
	descriptor driver.Ptr
	count      driver.Ptr
	columns    []driver.Ptr // by moved
	copied     *driver.Event
}

// divide divides an input. ErrBudget where the host or the device has too
// little memory for that.
func (e *execution) divide(ctx context.Context, d *division, key *device.Key) (err error) {
	all := e.inputs[d.number].all
	arena := e.site.arena
	defer arena.Rewind(arena.Mark())
	w := &divider{division: d, key: key, main: e.site.main.Stream(), bytes: int64(binary.Size(divideDescriptor{})) +
		int64(len(key.Parts)*binary.Size(partDescriptor{})+len(d.moved)*binary.Size(movedDescriptor{}))}
	columns := d.columnsRead()
	w.parts = e.cut(all, e.divideRows(d.rowBytes()))
	if w.back, err = e.backLane(); err != nil {
		return err
	}
	ring, err := e.ringFor(w.parts, columns)
	if err != nil {
		return err
	}
	defer ring.close()
	if w.desk, err = e.p.context.Pinned(2 * (w.bytes + countsBytes)); err != nil {
		return err
	}
	err = w.run(ctx, columns)
	// Whatever happened, nothing reads or writes the host's memory any more.
	err = errors.Join(err, w.back.stream.Sync(context.Background()), w.main.Sync(context.Background()))
	for _, part := range w.parts {
		part.close()
	}
	if err = errors.Join(err, w.desk.Free()); err != nil {
		d.free()
	}
	return err
}

// columnsRead are the columns of the input that are moved.
func (d *division) columnsRead() (out []int) {
	for _, m := range d.moved {
		if m.what == values {
			out = append(out, m.column)
		}
	}
	return out
}

// divideRows is how many rows a window has of which so many bytes are moved:
// two cross the link, and two go back.
func (e *execution) divideRows(bytes int64) int64 {
	if e.p.windowRows > 0 {
		return e.p.windowRows
	}
	return max(min(largestWindow, e.site.arena.Free()/10*9/(4*bytes+2)), 1)
}

func (w *divider) run(ctx context.Context, columns []int) error {
	if err := w.take(); err != nil {
		return err
	}
	err := stages(ctx, len(w.parts), func(ctx context.Context, i int) { w.parts[i].fetch(ctx, columns) }, func(i int) error {
		defer w.parts[i].close()
		if err := w.arrived(ctx, i-2); err != nil {
			return err
		}
		return w.window(ctx, i)
	})
	for i := len(w.parts) - 2; i < len(w.parts) && err == nil; i++ {
		err = w.arrived(ctx, i)
	}
	return err
}

// take takes the memory on the device for the largest window.
func (w *divider) take() error {
	rows := int64(0)
	for _, part := range w.parts {
		rows = max(rows, part.rows)
	}
	arena := w.e.site.arena
	var err error
	take := func(bytes int64) (at driver.Ptr) {
		if err == nil {
			at, err = arena.Take(bytes)
		}
		return at
	}
	w.ids, w.at = take(rows), take(countsBytes)
	for i := range w.out {
		out := &w.out[i]
		out.descriptor, out.count = take(w.bytes), take(countsBytes)
		for _, m := range w.moved {
			out.columns = append(out.columns, take(w.capacity(rows)*int64(m.bytes)))
		}
		if err == nil {
			out.copied, err = w.e.event()
		}
	}
	return err
}

// capacity is the room for so many rows in partitions.
func (d *division) capacity(rows int64) int64 { return rows + divideAlign<<d.bits }

// window queues the division of one window and its way back.
func (w *divider) window(ctx context.Context, i int) error {
	v, out := w.parts[i], &w.out[i%2]
	host, err := w.newWindow(v.rows)
	if err != nil {
		return err
	}
	if err := w.describe(ctx, v, i%2); err != nil {
		return err
	}
	if err := w.main.Memset(out.count, 0, countsBytes); err != nil {
		return err
	}
	for _, name := range []string{"gj_divide_count", "gj_divide_start", "gj_divide_place"} {
		k, err := w.e.p.divide.Kernel(name)
		if err != nil {
			return err
		}
		items := int64(1)
		if k.Rows > 0 {
			items = (v.rows + int64(k.Rows) - 1) / int64(k.Rows)
		}
		if err := k.Launch(w.main, k.Grid(items), uint64(out.descriptor)); err != nil {
			return err
		}
	}
	w.e.mu.Lock()
	err = w.main.Then(w.back.stream)
	w.e.mu.Unlock()
	if err != nil {
		return err
	}
	for m := range w.moved {
		if err := w.e.copyBack(ctx, host.columns[m], out.columns[m]); err != nil {
			return err
		}
	}
	if err := w.back.stream.CopyOut(w.counts(i%2), out.count); err != nil {
		return err
	}
	return w.back.stream.Record(out.copied)
}

// newWindow takes memory of the job for a window.
func (w *divider) newWindow(rows int64) (*divided, error) {
	capacity, total := w.capacity(rows), int64(0)
	for _, m := range w.moved {
		total += lines(capacity * int64(m.bytes))
	}
	memory, err := w.e.mem.Alloc(total)
	if err != nil {
		return nil, err
	}
	w.windows = append(w.windows, divided{memory: memory})
	host := &w.windows[len(w.windows)-1]
	for _, m := range w.moved {
		n := capacity * int64(m.bytes)
		host.columns = append(host.columns, memory[:n:n])
		memory = memory[lines(n):]
	}
	return host, nil
}

// describe copies the descriptor of a window to the device. Nothing reads the
// half of the desk any more.
func (w *divider) describe(ctx context.Context, v *view, half int) error {
	out := &w.out[half]
	at := out.descriptor + driver.Ptr(binary.Size(divideDescriptor{}))
	d := divideDescriptor{
		Rows: uint64(v.rows), Parts: uint64(at), PartCount: uint64(len(w.key.Parts)), Seed: divideSeed,
		Bits: uint64(w.bits), Partition: uint64(w.ids), Count: uint64(out.count), Cursor: uint64(w.at), First: uint64(v.first()),
		Moved: uint64(at) + uint64(len(w.key.Parts)*binary.Size(partDescriptor{})), MovedCount: uint64(len(w.moved)),
	}
	var parts []partDescriptor
	for _, p := range w.key.Parts {
		c, err := w.column(ctx, v, p.Column.Column)
		if err != nil {
			return err
		}
		parts = append(parts, partDescriptor{Column: columnDescriptor{Values: uint64(c.Values), Validity: uint64(c.Validity), Width: uint64(c.Width)}})
	}
	var list []movedDescriptor
	for i, m := range w.moved {
		to := movedDescriptor{To: uint64(out.columns[i]), Bytes: uint64(m.bytes)}
		if m.what != rowNumbers {
			c, err := w.column(ctx, v, m.column)
			if err != nil {
				return err
			}
			to.From = uint64(c.Values)
			if m.what == validity {
				to.From = uint64(c.Validity)
			}
		}
		list = append(list, to)
	}
	desk := w.desk.Bytes()[int64(half)*(w.bytes+countsBytes):][:w.bytes]
	b := desk[:0]
	for _, part := range []any{d, parts, list} {
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return w.main.CopyIn(out.descriptor, desk)
}

// column returns a column that is there for the main stream.
func (w *divider) column(ctx context.Context, v *view, j int) (*column, error) {
	c, err := v.column(ctx, j)
	if err != nil {
		return nil, err
	}
	return c, w.main.Wait(c.ready)
}

// counts is where the counts of a window arrive.
func (w *divider) counts(half int) []byte {
	at := int64(half)*(w.bytes+countsBytes) + w.bytes
	return w.desk.Bytes()[at:][:countsBytes]
}

// arrived waits until a window is on the host and notes where its partitions
// lie.
func (w *divider) arrived(ctx context.Context, i int) error {
	if i < 0 {
		return nil
	}
	if err := w.out[i%2].copied.Sync(ctx); err != nil {
		return err
	}
	host, at := &w.windows[i], int64(0)
	for _, n := range words(w.counts(i % 2))[:1<<w.bits] {
		host.start = append(host.start, at)
		host.count = append(host.count, int64(n))
		at += (int64(n) + divideAlign - 1) / divideAlign * divideAlign
	}
	return nil
}

// words sees bytes that are aligned to 4 as numbers.
func words(b []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

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
