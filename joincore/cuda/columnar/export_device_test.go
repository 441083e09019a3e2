//go:build cuda

package columnar

import (
	"context"

	"gpujoin/joincore/cuda/driver"
)

// SMJColumns is OM with one column at a time, however much memory is free.
func SMJColumns(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (*Output, *Report, error) {
	return startSMJ(ctx, d, s, a, j, "smj-om", func(r *smjRun) {
		if !r.Join.RowIDs {
			r.strategy = columnAtATime
		}
	})
}
