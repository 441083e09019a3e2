//go:build cuda

package cuda

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// division is an input partitioned by the hash of its keys, in host memory.
// Each window holds the columns that a join reads, ordered by partition. The
// memory belongs to the job.
type division struct {
	e       *execution
	input   *hostInput
	number  int
	key     *device.Key
	bits    int
	moved   []moved
	windows []divided
}

// moved is a payload of the partitioned rows: values or validity of a column,
// or row ids.
type moved struct {
	kind   payloadKind
	column int
	bytes  int
}

// divided is a window ordered by partition.
type divided struct {
	scratch
	columns      [][]byte // indexed like moved
	start, count []int64  // in rows, per partition
}

// newDivision plans a division of an input, whose columns are all movable.
func (e *execution) newDivision(number int, key *device.Key, columns []int, numbered bool, bits int) *division {
	d := &division{e: e, input: e.inputs[number].hostInput, number: number, key: key, bits: bits}
	for _, j := range columns {
		d.moved = append(d.moved, moved{values, j, d.input.relation.Columns[j].Width})
		if d.input.nullable(j) {
			d.moved = append(d.moved, moved{validity, j, 1})
		}
	}
	if numbered {
		d.moved = append(d.moved, moved{kind: rowNumbers, bytes: 4})
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
func (d *division) traffic(rows int64) int64 {
	n := int64(2)
	for _, p := range d.key.Parts {
		n += int64(d.input.relation.Columns[p.Column.Column].Width)
	}
	for _, m := range d.moved {
		n += int64(m.bytes)
		if m.kind != rowNumbers { // row ids are generated, not read
			n += int64(m.bytes)
		}
	}
	return rows * n
}

// columnsRead are the columns of the input that are moved.
func (d *division) columnsRead() (out []int) {
	for _, m := range d.moved {
		if m.kind == values {
			out = append(out, m.column)
		}
	}
	return out
}

// bytes returns the size of a window of the given number of rows, on the device
// and on the host; offset returns the start of one moved payload in it.
func (d *division) bytes(rows int64) int64 { return d.offset(len(d.moved), rows) }

func (d *division) offset(moved int, rows int64) (at int64) {
	capacity := rows + divideAlign<<d.bits
	for _, m := range d.moved[:moved] {
		at += lines(capacity * int64(m.bytes))
	}
	return at
}

// index returns the index of a moved payload, -1 if it is not moved.
func (d *division) index(w payloadKind, column int) int {
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

// piece returns one window's part of a moved payload of a partition.
func (w *divided) piece(moved, bytes, partition int) []byte {
	at := w.start[partition] * int64(bytes)
	return w.columns[moved][at : at+w.count[partition]*int64(bytes)]
}

// free frees the memory, which no copy may still use.
func (d *division) free() {
	for _, w := range d.windows {
		d.e.freeScratch(w.scratch)
	}
	d.windows = nil
}

// partitionView is the part of a partition that is in windows [low, high).
type partitionView struct {
	*division
	partition, low, high int
}

// viewOf returns a view of the rows of a partition view.
func (e *execution) viewOf(s *partitionView) *view {
	return &view{
		e: e, input: s.input, number: s.division.number, partition: s,
		rows: s.rows(s.partition, s.low, s.high), columns: make([]*column, len(s.input.relation.Columns)),
	}
}

// moves reports whether the values of a column were moved with the rows.
func (s *partitionView) moves(column int) bool { return s.index(values, column) >= 0 }

// numbered reports whether row ids were moved with the rows.
func (s *partitionView) numbered() bool { return s.index(rowNumbers, 0) >= 0 }

// each visits the pieces of a moved payload.
func (s *partitionView) each(moved int, visit func(piece []byte) error) error {
	bytes := s.division.moved[moved].bytes
	for i := s.low; i < s.high; i++ {
		if err := visit(s.windows[i].piece(moved, bytes, s.partition)); err != nil {
			return err
		}
	}
	return nil
}

// numbersFrom returns the row ids of rows [first, first+n).
func (s *partitionView) numbersFrom(first, n int64) []uint32 {
	out := make([]uint32, 0, n)
	at := s.index(rowNumbers, 0)
	for i := s.low; i < s.high && int64(len(out)) < n; i++ {
		list := words(s.windows[i].piece(at, 4, s.partition))
		skip := min(first, int64(len(list)))
		first -= skip
		list = list[skip:]
		out = append(out, list[:min(int64(len(list)), n-int64(len(out)))]...)
	}
	return out
}

// numberOf returns the row id of one row.
func (s *partitionView) numberOf(row int64) uint32 {
	at := s.index(rowNumbers, 0)
	for i := s.low; i < s.high; i++ {
		if n := s.windows[i].count[s.partition]; row >= n {
			row -= n
			continue
		}
		return words(s.windows[i].piece(at, 4, s.partition))[row]
	}
	return none
}

// loadPartition queues the upload of a column that was moved.
func (v *view) loadPartition(ctx context.Context, j int, c *column) (err error) {
	if c.Values, err = v.loadMoved(ctx, v.partition.index(values, j)); err != nil {
		return err
	}
	if valid := v.partition.index(validity, j); valid >= 0 {
		c.Validity, err = v.loadMoved(ctx, valid)
	}
	return err
}

func (v *view) loadMoved(ctx context.Context, moved int) (driver.Ptr, error) {
	to, err := v.alloc(v.rows * int64(v.partition.division.moved[moved].bytes))
	if err != nil {
		return 0, err
	}
	at := to
	return to, v.e.both(func() error {
		return v.partition.each(moved, func(piece []byte) error {
			from := at
			at += driver.Ptr(len(piece))
			return v.e.copyIn(ctx, from, piece)
		})
	})
}

// joined returns the rows of a view of a co-partition as a space. If no row ids
// were moved the space holds only columns.
func (v *view) joined(ctx context.Context) (*space, error) {
	if v.partition == nil || v.partition.numbered() {
		return v.space(), nil
	}
	s := v.e.newSpace(v.rows)
	for _, m := range v.partition.division.moved {
		if m.kind != values {
			continue
		}
		c, err := v.column(ctx, m.column)
		if err != nil {
			return nil, err
		}
		if err := v.e.workspace.main.Stream().Wait(c.ready); err != nil {
			return nil, err
		}
		s.carried[joincore.ColumnRef{Input: v.number, Column: m.column}] = rowid.Column{Values: c.Values, Validity: c.Validity, Width: c.Width}
	}
	return s, nil
}
