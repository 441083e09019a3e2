//go:build cuda

package outofcore

import (
	"context"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// division is an input partitioned by the hash of its keys, in host memory.
// Each window holds the columns that a join reads, ordered by partition. The
// memory belongs to the job.
type division struct {
	e       Resources
	all     View
	number  int
	input   *hostinput.Input
	key     *device.Key
	bits    int
	moved   []moved
	windows []*divided // filled in by all executions that partition the input
}

// moved is a payload of the partitioned rows: values or validity of a column,
// or row ids.
type moved struct {
	kind   rowid.PayloadKind
	column int
	bytes  int
}

// divided is a window ordered by partition.
type divided struct {
	scratch
	owner        Resources    // that allocated the scratch; nil: none yet
	columns      [][]byte     // indexed like moved
	resident     []driver.Ptr // likewise, if the window stayed on a device; nil: it is in host memory
	stored       []stored     // likewise; nil: all values are as in the input
	start, count []int64      // in rows, per partition
}

// stored is how a window stores the values of a column.
type stored struct {
	narrow bool // as 4-byte differences from base
	base   uint64
}

// how returns how the values of a moved payload are stored.
func (w *divided) how(moved int) stored {
	if w.stored == nil {
		return stored{}
	}
	return w.stored[moved]
}

// bytes returns the size of a stored value of a payload that takes the given bytes in the
// input.
func (s stored) bytes(input int) int {
	if s.narrow {
		return narrowBytes
	}
	return input
}

// newDivision plans the division of a side, whose columns are all movable.
func newDivision(e Resources, s Side, bits int) *division {
	d := &division{e: e, all: s.All, key: s.Key, bits: bits}
	d.number, d.input = s.All.Input()
	for _, j := range s.Columns {
		d.moved = append(d.moved, moved{rowid.PayloadValues, j, d.input.Relation.Columns[j].Width})
		if d.input.Nullable(j) {
			d.moved = append(d.moved, moved{rowid.PayloadValidity, j, 1})
		}
	}
	if s.Numbered {
		d.moved = append(d.moved, moved{kind: rowid.PayloadRowIDs, bytes: 4})
	}
	return d
}

// rowBytes returns the bytes of the moved payload per row.
func (d *division) rowBytes() int64 {
	n := int64(0)
	for _, m := range d.moved {
		n += int64(m.bytes)
	}
	return n
}

// traffic models the bytes of device memory that partitioning the given number
// of rows reads and writes: the keys, each row's partition twice, and the moved
// payload.
func (d *division) traffic(rows int64, w *divided) int64 {
	n := int64(2)
	for _, p := range d.key.Parts {
		n += int64(d.input.Relation.Columns[p.Column.Column].Width)
	}
	for i, m := range d.moved {
		n += int64(w.how(i).bytes(m.bytes))
		if m.kind != rowid.PayloadRowIDs { // row ids are generated, not read
			n += int64(m.bytes)
		}
	}
	return rows * n
}

// columnsRead are the columns of the input that are moved.
func (d *division) columnsRead() (out []int) {
	for _, m := range d.moved {
		if m.kind == rowid.PayloadValues {
			out = append(out, m.column)
		}
	}
	return out
}

// bytes returns the largest size of a window of the given number of rows, on the device and
// on the host.
func (d *division) bytes(rows int64) int64 {
	_, bytes := d.layout(rows, &divided{})
	return bytes
}

// layout returns where the moved payloads of a window of the given number of rows begin, and
// the bytes of all.
func (d *division) layout(rows int64, w *divided) (places []int64, bytes int64) {
	capacity := rows + divideAlign<<d.bits
	for i, m := range d.moved {
		places = append(places, bytes)
		bytes += driver.Lines(capacity * int64(w.how(i).bytes(m.bytes)))
	}
	return places, bytes
}

// index returns the index of a moved payload, -1 if it is not moved.
func (d *division) index(w rowid.PayloadKind, column int) int {
	for i, m := range d.moved {
		if m.kind == w && m.column == column {
			return i
		}
	}
	return -1
}

// rows returns the number of rows of a partition in windows [low, high).
func (d *division) rows(partition, low, high int) int64 {
	n := int64(0)
	for _, w := range d.windows[low:high] {
		n += w.count[partition]
	}
	return n
}

// piece returns one window's part of a moved payload of a partition, in host memory.
func (w *divided) piece(moved, bytes, partition int) []byte {
	at := w.start[partition] * int64(bytes)
	return w.columns[moved][at : at+w.count[partition]*int64(bytes)]
}

// partitionView is the part of a partition that is in windows [low, high). Its rows
// are ordered by window.
type partitionView struct {
	*division
	partition, low, high int
}

// viewOf returns a view of the rows of a partition view.
func viewOf(s *partitionView) View { return s.e.View(s.number, s) }

// Count returns the number of rows.
func (s *partitionView) Count() int64 { return s.rows(s.partition, s.low, s.high) }

// Columns returns the columns that were moved with the rows, and whether row ids
// were.
func (s *partitionView) Columns() (columns []int, numbered bool) {
	return s.columnsRead(), s.index(rowid.PayloadRowIDs, 0) >= 0
}

// Numbers returns the row ids of rows [first, first+n).
func (s *partitionView) Numbers(first, n int64) []uint32 {
	out := make([]uint32, 0, n)
	at := s.index(rowid.PayloadRowIDs, 0)
	for i := s.low; i < s.high && int64(len(out)) < n; i++ {
		list := words(s.windows[i].piece(at, 4, s.partition))
		skip := min(first, int64(len(list)))
		first -= skip
		list = list[skip:]
		out = append(out, list[:min(int64(len(list)), n-int64(len(out)))]...)
	}
	return out
}

// Number returns the row id of one row.
func (s *partitionView) Number(row int64) uint32 {
	at := s.index(rowid.PayloadRowIDs, 0)
	for i := s.low; i < s.high; i++ {
		if n := s.windows[i].count[s.partition]; row >= n {
			row -= n
			continue
		}
		return words(s.windows[i].piece(at, 4, s.partition))[row]
	}
	return hostinput.None
}

// Upload queues the upload of a column: in the order of the rows if it was moved,
// else by row id.
func (s *partitionView) Upload(ctx context.Context, to Uploader, column int) (c rowid.Column, err error) {
	values := s.index(rowid.PayloadValues, column)
	if values < 0 {
		return uploadByNumber(ctx, to, s.input, s, column)
	}
	c.Width = s.moved[values].bytes
	if c.Values, err = s.uploadMoved(ctx, to, values); err != nil {
		return c, err
	}
	if valid := s.index(rowid.PayloadValidity, column); valid >= 0 {
		c.Validity, err = s.uploadMoved(ctx, to, valid)
	}
	return c, err
}

// UploadNumbers queues the upload of the row ids.
func (s *partitionView) UploadNumbers(ctx context.Context, to Uploader) (driver.Ptr, error) {
	return s.uploadMoved(ctx, to, s.index(rowid.PayloadRowIDs, 0))
}

// uploadMoved queues the upload of a moved payload: the pieces of all windows, one after the
// other. Narrow ones are uploaded elsewhere first, and widened from there.
func (s *partitionView) uploadMoved(ctx context.Context, to Uploader, moved int) (driver.Ptr, error) {
	first, err := to.Alloc(s.Count() * int64(s.moved[moved].bytes))
	if err != nil {
		return 0, err
	}
	scratch := driver.Ptr(0)
	if n := s.narrowRows(moved); n > 0 {
		if scratch, err = to.Alloc(n * narrowBytes); err != nil {
			return 0, err
		}
	}
	var list []widenDescriptor
	err = to.Batched(func() (err error) {
		at := first
		for _, w := range s.windows[s.low:s.high] {
			rows, how := w.count[s.partition], w.how(moved)
			target := at
			if how.narrow {
				target = scratch
				list = widen(list, scratch, at, rows, how.base)
				scratch += driver.Ptr(rows * narrowBytes)
			}
			if err := s.queuePiece(ctx, to, target, w, moved); err != nil {
				return err
			}
			at += driver.Ptr(rows * int64(s.moved[moved].bytes))
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return first, err
	}
	st, err := to.Follow()
	for _, d := range list {
		if err == nil {
			err = s.launchWiden(st, d)
		}
	}
	return first, err
}

// queuePiece queues the copy of a window's part of a moved payload.
func (s *partitionView) queuePiece(ctx context.Context, to Uploader, at driver.Ptr, w *divided, moved int) error {
	bytes := w.how(moved).bytes(s.moved[moved].bytes)
	if w.resident == nil {
		return to.Copy(ctx, at, w.piece(moved, bytes, s.partition))
	}
	from := w.resident[moved] + driver.Ptr(w.start[s.partition]*int64(bytes))
	return to.CopyDevice(at, from, w.count[s.partition]*int64(bytes))
}

// narrowRows returns how many rows of a moved payload are stored in fewer bytes.
func (s *partitionView) narrowRows(moved int) (n int64) {
	for _, w := range s.windows[s.low:s.high] {
		if w.how(moved).narrow {
			n += w.count[s.partition]
		}
	}
	return n
}

// scratchBytes returns the device memory that the view needs in addition to its columns.
func (s *partitionView) scratchBytes() (n int64) {
	for m := range s.moved {
		n += driver.Lines(s.narrowRows(m) * narrowBytes)
	}
	return n
}

// widen adds a piece to a list, or to its last element if the piece continues that.
func widen(list []widenDescriptor, from, to driver.Ptr, rows int64, base uint64) []widenDescriptor {
	if rows == 0 {
		return list
	}
	if n := len(list) - 1; n >= 0 {
		if d := &list[n]; d.Base == base && d.From+d.Rows*narrowBytes == uint64(from) && d.To+d.Rows*wideBytes == uint64(to) {
			d.Rows += uint64(rows)
			return list
		}
	}
	return append(list, widenDescriptor{From: uint64(from), To: uint64(to), Rows: uint64(rows), Base: base})
}

// launchWiden queues the kernel that restores values.
func (s *partitionView) launchWiden(st *driver.Stream, d widenDescriptor) error {
	k, err := s.e.Device().kernels.Kernel("gj_divide_widen")
	if err != nil {
		return err
	}
	return k.Launch(st, k.Grid((int64(d.Rows)+int64(k.Rows)-1)/int64(k.Rows)), d.From, d.To, d.Rows, d.Base)
}
