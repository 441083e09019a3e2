package columnar

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/kernels"
)

// MaxPayload is the maximum number of payload columns of a side.
const MaxPayload = 16

// ResultColumn mirrors gj_result_column of kernels/layout/sort.h, where the fields are
// documented.
type ResultColumn struct {
	Side, Bytes, From, Index, Step, To uint64
}

// Result mirrors gj_result of kernels/layout/sort.h.
type Result struct {
	Columns, Capacity, Rows uint64
	Column                  [1 + 2*MaxPayload]ResultColumn
}

// numberColumn returns which of a side's result columns can hold the row numbers until it is
// gathered itself, after all others: the narrowest one that is wide enough, or -1.
func numberColumn(widths []int) int {
	best := -1
	for i, w := range widths {
		if w >= 4 && (best < 0 || w < widths[best]) {
			best = i
		}
	}
	return best
}

// NumberBytes returns the bytes per result row of row numbers outside the result's
// columns if a side's payload is gathered by row number. inPlace: row numbers are
// stored in result columns where possible.
func NumberBytes(widths []int, inPlace bool) int64 {
	if inPlace && numberColumn(widths) >= 0 {
		return 0
	}
	return 4
}

// mostOutput is the most rows that a result may be expected to have: the bytes of so many fit
// 63 bits, whatever their columns, and no memory holds them.
const mostOutput = 1 << 48

// checkRows checks numbers of rows: of the sides, which row ids have to address, and of the
// expected result. ErrBudget: the result fits no memory.
func checkRows(sides [2]int64, output int64) error {
	for _, rows := range sides {
		if rows < 0 || rows >= kernels.MaxRows {
			return fmt.Errorf("%d rows are more than row ids can address", rows)
		}
	}
	if output < 0 || output > mostOutput {
		return fmt.Errorf("a result of %d rows is expected: %w", output, joincore.ErrBudget)
	}
	return nil
}
