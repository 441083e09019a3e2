//go:build cuda

package rowid

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// rowsPerBlock is about the number of rows that a block of the simple kernels
// takes at once.
const rowsPerBlock = 2048

// Unpack expands a validity bitmap: to[i] is 1 if bit i is set, else 0. bits is a
// multiple of 4 and readable up to the next one.
func (q *Queue) Unpack(bits driver.Ptr, rows int64, to driver.Ptr) error {
	q.cost.Bytes += rows + rows/8
	return q.launch("gj_unpack", rows/rowsPerBlock+1, uint64(bits), uint64(rows), uint64(to))
}

// Pack writes validity bytes as bits shift, shift+1, ... (shift < 32) of the
// 4-byte words at to. It sets all other bits of these words to 1, so that the
// result can be merged into existing words by AND.
func (q *Queue) Pack(valid driver.Ptr, rows int64, shift int, to driver.Ptr) error {
	if rows == 0 {
		return nil
	}
	q.cost.Bytes += rows + rows/8
	return q.launch("gj_pack", rows/rowsPerBlock+1, uint64(valid), uint64(rows), uint64(shift), uint64(to))
}

// Spans makes the spans of a segment's values of variable length, 16 bytes
// each: address and length. offsets has rows+1 words of 4 bytes with any
// content; spans are clamped to the heap.
func (q *Queue) Spans(offsets, heap driver.Ptr, heapBytes, rows int64, to driver.Ptr) error {
	q.cost.Bytes += 20 * rows
	return q.launch("gj_spans", rows/rowsPerBlock+1, uint64(offsets), uint64(heap), uint64(heapBytes), uint64(rows), uint64(to))
}

// Number writes out[i] = first + positions[i], uint32 each: rows of an input of which positions are
// some from the given row on. If positions is 0 these are 0, 1, 2, ...: the input is not filtered.
func (q *Queue) Number(positions driver.Ptr, first, rows int64, out driver.Ptr) error {
	q.cost.Bytes += 4 * rows
	if positions != 0 {
		q.cost.Bytes += 4 * rows
	}
	return q.launch("gj_number", rows/rowsPerBlock+1, uint64(positions), uint64(first), uint64(rows), uint64(out))
}

// Compose writes out[i] = inner[outer[i]]; None stays None. If inner is 0 it copies
// outer.
func (q *Queue) Compose(outer, inner driver.Ptr, rows int64, out driver.Ptr) error {
	q.cost.Bytes += 12 * rows
	if inner == 0 {
		return q.stream.Copy(out, outer, 4*rows)
	}
	return q.launch("gj_compose", rows/rowsPerBlock+1, uint64(outer), uint64(inner), uint64(rows), uint64(out))
}

// Gather writes the values of rows [from, from+rows) of a space to out. The value of a
// missing row is zero. If valid is not 0, it receives one byte per row, 0 for NULL. The
// column's width is 1, 2, 4, 8 or 16.
func (q *Queue) Gather(c Column, from, rows int64, out, valid driver.Ptr) error {
	if rows == 0 {
		return nil
	}
	if c.Missing {
		if err := q.stream.Memset(out, 0, rows*int64(c.Width)); err != nil || valid == 0 {
			return err
		}
		return q.stream.Memset(valid, 0, rows)
	}
	switch c.Width {
	case 1, 2, 4, 8, 16:
	default:
		return fmt.Errorf("gather of values of %d bytes: %w", c.Width, joincore.ErrUnsupported)
	}
	q.cost.Bytes += rows * int64(2*c.Width)
	if c.Positions != 0 {
		q.cost.Bytes += 4 * rows
	}
	return q.launch(fmt.Sprintf("gj_take_%d", c.Width), rows/rowsPerBlock+1,
		uint64(c.Values), uint64(c.Validity), uint64(c.Positions), uint64(from), uint64(rows), uint64(out), uint64(valid))
}

// Filter writes the numbers of the rows of s for which e is true, in order, to
// out, which has space for all rows, and returns how many there are. It uses memory of the
// arena. ErrUnsupported if s has too many rows or e is too large, ErrArithmetic if e is out of
// range for a row.
func (q *Queue) Filter(ctx context.Context, s Side, e joincore.Expr, parameters []joincore.Parameter, out driver.Ptr) (rows int64, err error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	total, err := q.arena.Take(16)
	if err != nil {
		return 0, err
	}
	failed := total + 8
	if err := q.stream.Memset(failed, 0, 8); err != nil {
		return 0, err
	}
	condition, err := q.condition(ctx, nil, e, parameters, &s, nil, failed)
	if err != nil {
		return 0, err
	}
	if err := q.selectRows("gj_select_condition", s.Rows, out, total, uint64(condition)); err != nil {
		return 0, err
	}
	q.cost.Bytes += 4 * s.Rows
	counted, err := q.read(ctx, total, 2)
	if err != nil {
		return 0, err
	}
	if counted[1] != 0 {
		return 0, joincore.ErrArithmetic
	}
	return int64(counted[0]), nil
}

// selectRows launches a kernel that writes the numbers of selected rows in order. Its
// first arguments are the row count, the look-back state, out and total.
func (q *Queue) selectRows(kernel string, rows int64, out, total driver.Ptr, args ...uint64) error {
	scan, err := q.scanState(kernel, rows)
	if err != nil {
		return err
	}
	return q.launchTiles(kernel, rows, append([]uint64{uint64(rows), uint64(scan), uint64(out), uint64(total)}, args...)...)
}

// scanState takes and clears the state of a kernel with decoupled look-back: a
// ticket and a word per tile.
func (q *Queue) scanState(kernel string, rows int64) (driver.Ptr, error) {
	k, err := q.kernels.module.Kernel(kernel)
	if err != nil {
		return 0, err
	}
	bytes := 8 * (1 + tiles(rows, k.Rows))
	at, err := q.arena.Take(bytes)
	if err != nil {
		return 0, err
	}
	return at, q.stream.Memset(at, 0, bytes)
}

// launchTiles launches a kernel whose blocks draw tiles of rows.
func (q *Queue) launchTiles(kernel string, rows int64, args ...uint64) error {
	k, err := q.kernels.module.Kernel(kernel)
	if err != nil {
		return err
	}
	return q.launch(kernel, tiles(rows, k.Rows), args...)
}

func tiles(rows int64, tile int) int64 { return (rows + int64(tile) - 1) / int64(tile) }
