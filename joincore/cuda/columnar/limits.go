package columnar

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/kernels"
)

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
