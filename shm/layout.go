package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// ErrRowTooWide: not even one row of the fixed-width columns fits an extent.
var ErrRowTooWide = errors.New("a row does not fit into an extent")

// BatchLayout is the arrangement of a batch's columns in an extent before it is
// filled. It depends only on the extent's size, the columns and the expected
// heap bytes per row, and batches share it.
type BatchLayout struct {
	Rows    int // capacity
	shapes  []ColumnShape
	columns []Column // HeapLen: capacity
}

func alignUp(n, a int) int { return (n + a - 1) / a * a }

// PlanBatch divides an extent of size bytes among the columns. heap[i] is the
// expected mean heap bytes per row of column i; it is ignored for EncFixed.
// Bytes that the rows do not need are divided among the heaps in the same
// proportions.
func PlanBatch(size int, shapes []ColumnShape, heap []float64) (*BatchLayout, error) {
	if len(shapes) > MaxColumns || size > ExtentMaxSize {
		return nil, fmt.Errorf("%w: %d columns in %d bytes", ErrBatchColumns, len(shapes), size)
	}
	rowBits, total := 0.0, 0.0
	for i, s := range shapes {
		if err := s.Check(); err != nil {
			return nil, err
		}
		rowBits += float64(s.Width)*8 + 1
		if s.Encoding == EncVarlena {
			mean := heapMean(heap, i)
			rowBits += 32 + 8*mean
			total += mean
		}
	}
	l := &BatchLayout{shapes: shapes, columns: make([]Column, len(shapes))}
	l.Rows = size
	if rowBits > 0 {
		l.Rows = max(1, int(float64(size)*8/rowBits))
	}
	for {
		end := l.place()
		if end <= size {
			l.divideHeaps(heap, total, end, size)
			return l, nil
		}
		if l.Rows == 1 {
			return nil, fmt.Errorf("%w: %d bytes", ErrRowTooWide, end)
		}
		l.Rows = max(1, min(l.Rows-1, int(int64(l.Rows)*int64(size)/int64(end))))
	}
}

// heapMean returns heap[i], limited to between 1 and the size of the largest extent.
func heapMean(heap []float64, i int) float64 {
	if i >= len(heap) || !(heap[i] >= 1) {
		return 1
	}
	return math.Min(heap[i], ExtentMaxSize)
}

// place assigns offsets to the values and bitmaps of l.Rows rows and returns their end.
// The end may exceed 32 bits, whatever the offsets; it then fits no extent.
func (l *BatchLayout) place() int {
	end := alignUp(headerSize(len(l.columns)), regionAlign)
	for i, s := range l.shapes {
		c := &l.columns[i]
		*c = Column{Encoding: s.Encoding, Align: s.Align, Width: s.Width, ValuesOff: uint32(end)}
		end = alignUp(end+s.Bytes(l.Rows), regionAlign)
		c.ValidityOff = uint32(end)
		end = alignUp(end+(l.Rows+7)/8, regionAlign)
	}
	return end
}

// divideHeaps divides the bytes from end to size among the heaps.
func (l *BatchLayout) divideHeaps(heap []float64, total float64, end, size int) {
	free := size - end
	for i := range l.columns {
		c := &l.columns[i]
		if c.Encoding != EncVarlena {
			continue
		}
		n := int(float64(free)*heapMean(heap, i)/total) / regionAlign * regionAlign
		n = min(n, size-end)
		c.HeapOff, c.HeapLen = uint32(end), uint32(n)
		if n == 0 {
			c.HeapOff = c.ValuesOff // an empty heap may be anywhere in range
		}
		end += n
	}
}

// Columns returns the writable columns of an extent, with bitmaps all ones and
// the first offsets zero.
func (l *BatchLayout) Columns(extent []byte) []ColumnView {
	v := make([]ColumnView, len(l.columns))
	for i, c := range l.columns {
		part := func(off uint32, n int) []byte { return extent[off : int(off)+n : int(off)+n] }
		v[i].Shape = l.shapes[i]
		v[i].Values = part(c.ValuesOff, v[i].Shape.Bytes(l.Rows))
		v[i].Validity = part(c.ValidityOff, (l.Rows+7)/8)
		for j := range v[i].Validity {
			v[i].Validity[j] = 0xff
		}
		if c.Encoding == EncVarlena {
			v[i].Heap = part(c.HeapOff, int(c.HeapLen))
			clear(v[i].Values[:4])
		}
	}
	return v
}

// Seal writes the header of a batch that was filled through Columns: its rows,
// and heap[i] heap bytes in column i. It returns the end of the last array in
// the extent, and the total bytes of all arrays, which are far fewer if the
// batch has fewer rows than planned.
func (l *BatchLayout) Seal(extent []byte, rows int, heap []int) (used, bytes int64, err error) {
	if rows < 1 || rows > l.Rows {
		return 0, 0, fmt.Errorf("%w: %d rows of %d", ErrBatchSize, rows, l.Rows)
	}
	cols := slices.Clone(l.columns)
	end := headerSize(len(cols))
	for i := range cols {
		c := &cols[i]
		n := l.shapes[i].Bytes(rows)
		if c.Encoding == EncVarlena {
			if i >= len(heap) || heap[i] < 0 || heap[i] > int(c.HeapLen) {
				return 0, 0, fmt.Errorf("%w: heap of column %d", ErrBatchSize, i)
			}
			c.HeapLen = uint32(heap[i])
			if c.HeapLen == 0 {
				c.HeapOff = c.ValuesOff
			}
			end = max(end, int(c.HeapOff+c.HeapLen))
		}
		end = max(end, int(c.ValuesOff)+n)
		bytes += int64(n) + int64(c.HeapLen)
		c.Nulls = uint32(rows - popcount(extent[c.ValidityOff:], rows))
		if c.Nulls == 0 {
			c.ValidityOff = 0
		} else {
			end = max(end, int(c.ValidityOff)+(rows+7)/8)
			bytes += int64(rows+7) / 8
		}
	}
	b := Append(extent[:0:len(extent)], &Batch{
		Magic: BatchMagic, Version: LayoutVersion, NCols: uint16(len(cols)),
		Rows: uint32(rows), Used: uint64(end),
	})
	for i := range cols {
		b = Append(b, &cols[i])
	}
	return int64(end), bytes, nil
}

// popcount counts the ones among the first n bits.
func popcount(bitmap []byte, n int) (ones int) {
	full := bitmap[:n/8]
	for ; len(full) >= 8; full = full[8:] {
		ones += bits.OnesCount64(binary.LittleEndian.Uint64(full))
	}
	for _, x := range full {
		ones += bits.OnesCount8(x)
	}
	if r := n % 8; r != 0 {
		ones += bits.OnesCount8(bitmap[n/8] & (1<<r - 1))
	}
	return ones
}
