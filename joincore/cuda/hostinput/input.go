// Package hostinput reads base inputs where they lie in host memory. An input's
// rows are numbered through its segments; readers fetch values by that number and
// write them into batches. Values of variable length and widths that no kernel
// moves reach results only this way.
//
// Parallel loops over an input run by Each and InPieces. They turn a panic and a
// fault in mapped memory into an error: the memory belongs to another process,
// which may truncate it.
package hostinput

import (
	"context"
	"encoding/binary"
	"fmt"
	"sort"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/device"
)

// None is the row id of a missing row.
const None = ^uint32(0)

// Input is a base input where the caller has it. Rows are numbered through
// the segments.
type Input struct {
	Relation *joincore.Relation
	Starts   []int64 // the first row of each segment, and the number of all
	Seed     uint64  // of the execution's hashes
	nullable []bool  // by column: some segment has a validity bitmap
}

// New checks the vectors of a relation, which is the given input of its plan, and
// numbers its rows. It returns joincore.ErrInvalid if a vector is too short for
// its segment, and joincore.ErrUnsupported for a width that is not possible or too
// many rows.
func New(input int, r *joincore.Relation) (*Input, error) {
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("input %d: %w", input, err)
	}
	h := &Input{Relation: r, Starts: make([]int64, 1, len(r.Segments)+1), nullable: make([]bool, len(r.Columns))}
	for i := range r.Segments {
		s := &r.Segments[i]
		h.Starts = append(h.Starts, h.Starts[i]+int64(s.Rows))
		for j := range h.nullable {
			h.nullable[j] = h.nullable[j] || s.Columns[j].Validity != nil
		}
	}
	if h.RowCount() >= kernels.MaxRows {
		return nil, fmt.Errorf("input %d has more rows than row ids can address: %w", input, joincore.ErrUnsupported)
	}
	return h, nil
}

// Derived describes an input whose rows the device has made: no segment has any.
// joincore.ErrUnsupported: it has too many rows.
func Derived(input int, rows int64, columns []joincore.Column) (*Input, error) {
	if rows >= kernels.MaxRows {
		return nil, fmt.Errorf("input %d has more rows than row ids can address: %w", input, joincore.ErrUnsupported)
	}
	return &Input{Relation: &joincore.Relation{Columns: columns}, Starts: []int64{0, rows}}, nil
}

// RowCount returns the number of rows.
func (h *Input) RowCount() int64 { return h.Starts[len(h.Starts)-1] }

// Nullable says whether any segment has a validity bitmap for the column.
func (h *Input) Nullable(column int) bool { return column < len(h.nullable) && h.nullable[column] }

// Numbers are the row ids of some rows in one input: consecutive ones from First
// on, or those of List.
type Numbers struct {
	First int64    // row i is row First + i, where List is nil
	List  []uint32 // None: there is no such row
}

// At returns the row id of row i; ok is false if there is no such row.
func (n Numbers) At(i int) (row int64, ok bool) {
	if n.List == nil {
		return n.First + int64(i), true
	}
	return int64(n.List[i]), n.List[i] != None
}

// From leaves out the first i rows.
func (n Numbers) From(i int) Numbers {
	if n.List == nil {
		return Numbers{First: n.First + int64(i)}
	}
	return Numbers{List: n.List[i:]}
}

// Through returns the rows of another input to which the first count rows lead: list has
// one, or None, for each row of this input.
func (n Numbers) Through(list []uint32, count int) Numbers {
	out := make([]uint32, count)
	for i := range out {
		row, ok := n.At(i)
		if out[i] = None; ok {
			out[i] = list[row]
		}
	}
	return Numbers{List: out}
}

// Reader reads one column by row number. Consecutive rows are mostly of one
// segment, which it remembers.
type Reader struct {
	h      *Input
	column int
	desc   joincore.Column
	seg    int
	vector *joincore.Vector
	low    int64 // rows [low, high) are those of the segment
	high   int64
}

// Reader returns a reader of a column.
func (h *Input) Reader(column int) Reader {
	return Reader{h: h, column: column, desc: h.Relation.Columns[column]}
}

// Locate makes the row's segment the present one and returns its number there.
func (r *Reader) Locate(row int64) int64 {
	if row < r.low || row >= r.high {
		r.seg = sort.Search(len(r.h.Starts)-1, func(i int) bool { return r.h.Starts[i+1] > row })
		r.low, r.high = r.h.Starts[r.seg], r.h.Starts[r.seg+1]
		r.vector = &r.h.Relation.Segments[r.seg].Columns[r.column]
	}
	return row - r.low
}

// Raw returns the bytes of a value of fixed width, of a NULL as well.
func (r *Reader) Raw(row int64) []byte {
	i, w := r.Locate(row), int64(r.desc.Width)
	return r.vector.Values[i*w : (i+1)*w]
}

// Varlena returns the bytes of a value of variable length, and false for NULL.
func (r *Reader) Varlena(row int64) ([]byte, bool) {
	i := r.Locate(row)
	if r.Null(i) {
		return nil, false
	}
	return r.vector.Variable(int(i)), true
}

// Null says whether row i of the present segment is NULL.
func (r *Reader) Null(i int64) bool {
	return r.vector.Null(int(i))
}

// Padded is the length of a value with what keeps the next one aligned.
func Padded(n, align int) int {
	align = max(align, 1)
	return (n + align - 1) / align * align
}

// WriteVarlena copies values into rows [at, at+n) of a batch until its heap, of
// which used bytes are, is full. It returns how many rows it wrote and the
// bytes then used.
func (r *Reader) WriteVarlena(v *joincore.Vector, at, used int, rows Numbers, n int) (int, int) {
	put := func(i int) { binary.LittleEndian.PutUint32(v.Values[4*i:], uint32(used)) }
	put(at)
	for i := range n {
		value, ok := []byte(nil), false
		if row, there := rows.At(i); there {
			value, ok = r.Varlena(row)
		}
		size := Padded(len(value), r.desc.Align)
		if size > len(v.Heap)-used {
			return i, used
		}
		copy(v.Heap[used:], value)
		clear(v.Heap[used+len(value) : used+size])
		used += size
		put(at + i + 1)
		if !ok {
			setNull(v, at+i)
		}
	}
	return n, used
}

// WriteFixed copies values into rows [at, at+n) of a batch.
func (r *Reader) WriteFixed(v *joincore.Vector, at int, rows Numbers, n int) {
	w := r.desc.Width
	for i := range n {
		to := v.Values[(at+i)*w : (at+i+1)*w]
		row, ok := rows.At(i)
		if !ok || r.Null(r.Locate(row)) {
			clear(to)
			setNull(v, at+i)
			continue
		}
		copy(to, r.Raw(row))
	}
}

// WriteMissing makes rows [at, at+n) of a batch NULL.
func WriteMissing(v *joincore.Vector, c joincore.Column, at, used, n int) {
	if c.Kind == joincore.Varlena {
		for i := range n + 1 {
			binary.LittleEndian.PutUint32(v.Values[4*(at+i):], uint32(used))
		}
	} else {
		clear(v.Values[at*c.Width : (at+n)*c.Width])
	}
	for i := range n {
		setNull(v, at+i)
	}
}

func setNull(v *joincore.Vector, row int) { v.Validity[row/8] &^= 1 << (row % 8) }

// BytesPerRow is what columns of an input take on the device.
func (h *Input) BytesPerRow(columns []int) int64 {
	n := int64(0)
	for _, j := range columns {
		c := h.Relation.Columns[j]
		n += int64(c.Width) + 1
		if c.Kind == joincore.Varlena {
			n += 20 + int64(h.heapBytes(j)/max(h.RowCount(), 1))
		}
	}
	return n
}

// heapBytes returns the bytes of a column's heaps.
func (h *Input) heapBytes(column int) int64 {
	n := int64(0)
	for i := range h.Relation.Segments {
		n += int64(len(h.Relation.Segments[i].Columns[column].Heap))
	}
	return n
}

// Each calls work for each of n segments, on at most the given number of cores.
func Each(n, cores int, work func(i int)) error {
	segments := device.NewTasks(n)
	return device.Workers(context.Background(), min(cores, n), func(ctx context.Context, _ int) error {
		for i := range segments.Deal(ctx, device.Unlimited{}) {
			work(i)
		}
		return nil
	})
}

// piece is the number of bytes that are worth a goroutine.
const piece = 1 << 20

// InPieces splits work on [0, n) among several cores if that pays: a single
// core copies more slowly than the PCIe or NVLink connection.
func InPieces(n int, work func(low, high int)) error {
	if n <= piece {
		work(0, n)
		return nil
	}
	pieces := (n + piece - 1) / piece
	return Each(pieces, pieces, func(i int) { work(i*piece, min((i+1)*piece, n)) })
}
