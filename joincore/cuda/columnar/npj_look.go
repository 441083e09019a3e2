//go:build cuda

package columnar

import (
	"context"

	"gpujoin/joincore/cuda/driver"
)

// ReadKeyRange determines the range of the build keys by reading them all; it waits for the
// device once. The caller rewinds the memory that it takes from the arena. Errors are
// those of Run.
func ReadKeyRange(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (KeyRange, *Report, error) {
	var c npjCounters
	_, report, err := startNPJ(ctx, d, s, a, j, func(ctx context.Context, b *Job) (*Output, error) {
		r := npjRun{Job: b}
		r.table.Rows[0], r.table.Key[0] = uint64(j.Build.Rows), uint64(j.Build.Key.Addr)
		r.count()
		r.overBuild("gj_table_range_k%d", Put(b, &r.table))
		r.Phase(PhaseRange, j.Build.Rows*int64(j.Build.Key.Bytes))
		return nil, r.readCounters(ctx, &c)
	})
	return c.keys(), report, err
}
