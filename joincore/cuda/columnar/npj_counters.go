//go:build cuda

package columnar

// npjCounters is the memory that kernels change: gj_table's range, the result's row count
// and repeats.
type npjCounters struct {
	Low, NotHigh, Near, Results, Repeats uint64
}

func (c *npjCounters) keys() KeyRange {
	return KeyRange{Low: c.Low, High: ^c.NotHigh, Near: int64(c.Near)}
}
