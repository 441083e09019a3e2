//go:build cuda

package npj

// counters are what the kernels change: gj_table's range, rows of the result and
// repeats.
type counters struct {
	Low, NotHigh, Near, Results, Repeats uint64
}

func (c *counters) keys() Range { return Range{Low: c.Low, High: ^c.NotHigh, Near: int64(c.Near)} }
