package transferjoin

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"

	"gpujoin/joincore"
)

// result takes the one row of a join.
type result struct {
	mu   sync.Mutex
	rows int
	sums
}

// The columns of a row: how many there are, and the two sums of 128 bits.
var widths = [3]int{8, 16, 16}

// NewBatch implements joincore.Sink.
func (*result) NewBatch(context.Context, []float64) (*joincore.Batch, error) {
	b := &joincore.Batch{Rows: 8}
	for _, width := range widths {
		b.Columns = append(b.Columns, joincore.Vector{Values: make([]byte, 8*width), Validity: []byte{0xff}})
	}
	return b, nil
}

// Emit implements joincore.Sink.
func (r *result) Emit(_ context.Context, b *joincore.Batch, rows int, _ []int) error {
	at := func(column int) int64 { return int64(binary.LittleEndian.Uint64(b.Columns[column].Values)) }
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows += rows
	r.sums = sums{at(0), at(1), at(2)}
	return nil
}

// Discard implements joincore.Sink.
func (*result) Discard(*joincore.Batch) {}

// check returns an error unless the result is one row with the given sums.
func (r *result) check(want sums) error {
	if r.rows != 1 || r.sums != want {
		return fmt.Errorf("the join returned %d rows with %+v instead of %+v", r.rows, r.sums, want)
	}
	return nil
}

// hostMemory is the host memory that the join itself needs.
type hostMemory struct{}

// Alloc implements joincore.Memory.
func (hostMemory) Alloc(n int64) ([]byte, error) {
	b := make([]byte, n+63)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % 64
	return b[skip:][:n:n], nil
}

// Free implements joincore.Memory.
func (hostMemory) Free([]byte) {}
