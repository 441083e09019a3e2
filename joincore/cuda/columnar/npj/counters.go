//go:build cuda

package npj

// counters is the memory that kernels change: gj_table's range, the result's row count
// and repeats.
type counters struct {
	Low, NotHigh, Near, Results, Repeats uint64
}

func (c *counters) keys() Range { return Range{Low: c.Low, High: ^c.NotHigh, Near: int64(c.Near)} }
