package shm

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Encoding is the storage format of a column's values in a batch.
type Encoding uint8

const (
	EncFixed Encoding = iota + 1
	EncVarlena
)

// Column is gj_column: one column of a batch. Offsets count from the start
// of the extent.
type Column struct {
	Encoding    Encoding `c:"encoding"`
	Align       uint8    `c:"align"`
	Width       uint16   `c:"width"`
	Nulls       uint32   `c:"nulls"`
	ValuesOff   uint32   `c:"values_off"`
	ValidityOff uint32   `c:"validity_off"`
	HeapOff     uint32   `c:"heap_off"`
	HeapLen     uint32   `c:"heap_len"`
}

// Batch is gj_batch, at offset 0 of an extent; NCols Column follow.
type Batch struct {
	Magic    uint32 `c:"magic"`
	Version  uint16 `c:"version"`
	NCols    uint16 `c:"ncols"`
	Rows     uint32 `c:"rows"`
	Flags    uint32 `c:"flags"`
	Used     uint64 `c:"used"`
	Reserved uint64 `c:"reserved"`
}

// Errors of a batch, in the order of the checks.
var (
	ErrBatchMagic   = errors.New("extent does not hold a batch")
	ErrBatchVersion = errors.New("batch has a different layout version")
	ErrBatchSize    = errors.New("batch does not fit its extent")
	ErrBatchColumns = errors.New("columns of a batch differ from the job's")
	ErrBatchRegion  = errors.New("column is outside of its batch")
	ErrBatchOverlap = errors.New("columns of a batch overlap")
	ErrBatchOffsets = errors.New("offsets of a column are out of order")
)

// ColumnShape is the physical type of a column, as declared in the job.
type ColumnShape struct {
	Encoding Encoding
	Align    uint8
	Width    uint16 // bytes per value; 0 for EncVarlena
}

// Check returns an error unless layout.h allows the shape.
func (s ColumnShape) Check() error {
	switch {
	case s.Encoding == EncFixed && fixedWidth(s.Width) && s.Align >= 1 && s.Align <= 8:
		return nil
	case s.Encoding == EncVarlena && s.Width == 0 && (s.Align == 4 || s.Align == 8):
		return nil
	}
	return fmt.Errorf("%w: encoding %d, width %d, align %d", ErrBatchColumns, s.Encoding, s.Width, s.Align)
}

// Bytes returns the bytes of the values, or their offsets, of that many rows.
func (s ColumnShape) Bytes(rows int) int {
	if s.Encoding == EncVarlena {
		return 4 * (rows + 1)
	}
	return rows * int(s.Width)
}

func fixedWidth(w uint16) bool {
	return w == 1 || w == 2 || w == 4 || w == 8 || w > 0 && w <= 64 && w%8 == 0
}

// ColumnView is the data of one column of a batch, in place in the extent.
type ColumnView struct {
	Shape    ColumnShape
	Nulls    int
	Values   []byte // EncFixed: rows*Width bytes; EncVarlena: rows+1 uint32 offsets
	Validity []byte // nil: no NULLs
	Heap     []byte // EncVarlena
}

// View is a batch whose header has been copied and checked.
type View struct {
	Rows    int
	Used    int64 // end of the last array, according to the writer
	Columns []ColumnView
	Parts   []Part // that header and arrays occupy, in their order; other bytes have no meaning
}

// Bytes returns the total bytes of the batch's arrays, without gaps between them.
func (v *View) Bytes() (n int64) {
	for i := range v.Columns {
		c := &v.Columns[i]
		n += int64(len(c.Values) + len(c.Validity) + len(c.Heap))
	}
	return n
}

// batchHeader copies and checks the header. It also returns the column descriptors.
func batchHeader(extent []byte) (Batch, []byte, error) {
	h, rest, err := DecodePrefix[Batch](extent)
	switch {
	case err != nil:
		return h, nil, err
	case h.Magic != BatchMagic:
		return h, nil, fmt.Errorf("%w: magic %#x", ErrBatchMagic, h.Magic)
	case h.Version != LayoutVersion || h.Flags != 0 || h.Reserved != 0:
		return h, nil, fmt.Errorf("%w: version %d, flags %#x", ErrBatchVersion, h.Version, h.Flags)
	case h.Used > uint64(len(extent)):
		return h, nil, fmt.Errorf("%w: %d bytes used of %d", ErrBatchSize, h.Used, len(extent))
	case h.NCols > MaxColumns:
		return h, nil, fmt.Errorf("%w: %d columns", ErrBatchColumns, h.NCols)
	case uint64(headerSize(int(h.NCols))) > h.Used:
		return h, nil, fmt.Errorf("%w: %d columns in %d bytes", ErrBatchSize, h.NCols, h.Used)
	}
	return h, rest, nil
}

// headerSize returns the bytes before the first array of a batch of n columns.
func headerSize(n int) int { return Sizeof[Batch]() + n*Sizeof[Column]() }

// ReadBatch checks the batch in extent against want, the columns declared in the job;
// want nil accepts any columns. The header is copied once, so a peer that still writes
// to the extent can change only values. Offsets of variable-length values are checked
// once, too, to detect a broken writer; users clamp them all the same.
func ReadBatch(extent []byte, want []ColumnShape) (*View, error) {
	h, rest, err := batchHeader(extent)
	if err != nil {
		return nil, err
	}
	if want != nil && int(h.NCols) != len(want) {
		return nil, fmt.Errorf("%w: %d columns, %d expected", ErrBatchColumns, h.NCols, len(want))
	}
	v := &View{Rows: int(h.Rows), Used: int64(h.Used), Columns: make([]ColumnView, h.NCols)}
	rs := regions{extent: extent, used: h.Used}
	rs.claim(0, uint64(headerSize(int(h.NCols))))
	for i := range v.Columns {
		var c Column
		if c, rest, err = DecodePrefix[Column](rest); err != nil {
			return nil, err
		}
		s := ColumnShape{Encoding: c.Encoding, Align: c.Align, Width: c.Width}
		if want != nil && s != want[i] {
			return nil, fmt.Errorf("%w: column %d is %v, %v expected", ErrBatchColumns, i, s, want[i])
		}
		if v.Columns[i], err = rs.column(s, &c, uint64(h.Rows)); err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
	}
	if err := rs.disjoint(); err != nil {
		return nil, err
	}
	v.Parts = rs.taken
	return v, nil
}

func (s ColumnShape) String() string {
	if s.Encoding == EncVarlena {
		return fmt.Sprintf("varlena align %d", s.Align)
	}
	return fmt.Sprintf("encoding %d width %d align %d", s.Encoding, s.Width, s.Align)
}

// Part is a part of an extent, such as one array occupies: the bytes from From to
// before To.
type Part struct{ From, To uint64 }

// regions collects the arrays of a batch, to check that they do not overlap.
type regions struct {
	extent []byte
	used   uint64
	taken  []Part
}

func (r *regions) claim(from, to uint64) { r.taken = append(r.taken, Part{from, to}) }

// slice returns n bytes at offset off, which must be aligned and in range.
func (r *regions) slice(what string, off uint32, n uint64) ([]byte, error) {
	from := uint64(off)
	if off%regionAlign != 0 || from+n > r.used {
		return nil, fmt.Errorf("%w: %s at %d, %d bytes, of %d in use", ErrBatchRegion, what, off, n, r.used)
	}
	r.claim(from, from+n)
	return r.extent[from : from+n : from+n], nil
}

// column resolves the offsets of c for the given rows. All lengths fit 64 bits, because
// rows have 32 bits and widths 16.
func (r *regions) column(s ColumnShape, c *Column, rows uint64) (v ColumnView, err error) {
	v.Shape, v.Nulls = s, int(c.Nulls)
	if err := s.Check(); err != nil {
		return v, err
	}
	if uint64(c.Nulls) > rows || c.ValidityOff == 0 && c.Nulls != 0 {
		return v, fmt.Errorf("%w: %d NULLs among %d rows", ErrBatchRegion, c.Nulls, rows)
	}
	if v.Values, err = r.slice("values", c.ValuesOff, uint64(s.Bytes(int(rows)))); err != nil {
		return v, err
	}
	if c.ValidityOff != 0 {
		if v.Validity, err = r.slice("validity", c.ValidityOff, (rows+7)/8); err != nil {
			return v, err
		}
	}
	if s.Encoding == EncFixed {
		if c.HeapOff != 0 || c.HeapLen != 0 {
			return v, fmt.Errorf("%w: heap of a fixed column", ErrBatchRegion)
		}
		return v, nil
	}
	if v.Heap, err = r.slice("heap", c.HeapOff, uint64(c.HeapLen)); err != nil {
		return v, err
	}
	return v, ordered(v.Values, c.HeapLen)
}

// ordered returns an error unless offsets never decrease and end within the heap.
func ordered(offsets []byte, heap uint32) error {
	last := uint32(0)
	for i := 0; i+4 <= len(offsets); i += 4 {
		o := binary.LittleEndian.Uint32(offsets[i:])
		if o < last || o > heap {
			return fmt.Errorf("%w: value %d at %d, after %d, heap of %d", ErrBatchOffsets, i/4, o, last, heap)
		}
		last = o
	}
	return nil
}

// disjoint sorts the regions, without empty ones, which overlap nothing. It returns an error
// if two of them overlap.
func (r *regions) disjoint() error {
	r.taken = slices.DeleteFunc(r.taken, func(p Part) bool { return p.From == p.To })
	slices.SortFunc(r.taken, func(a, b Part) int { return cmp.Compare(a.From, b.From) })
	end := uint64(0)
	for _, t := range r.taken {
		if t.From < end {
			return fmt.Errorf("%w: at %d", ErrBatchOverlap, t.From)
		}
		end = t.To
	}
	return nil
}
