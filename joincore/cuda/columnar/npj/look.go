//go:build cuda

package npj

import (
	"context"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/joincore/cuda/driver"
)

// Look determines the range of the build keys by reading them all; it waits for the
// device once. The caller rewinds the memory that it takes from the arena. Errors are
// those of Run.
func Look(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (Range, *columnar.Report, error) {
	var c counters
	_, report, err := start(ctx, d, s, a, j, func(ctx context.Context, b *launch.Job) (*columnar.Output, error) {
		r := run{Job: b}
		r.table.Rows[0], r.table.Key[0] = uint64(j.Build.Rows), uint64(j.Build.Key.Addr)
		r.count()
		r.overBuild("gj_table_range_k%d", launch.Put(b, &r.table))
		r.Phase(columnar.PhaseRange, j.Build.Rows*int64(j.Build.Key.Bytes))
		return nil, r.readCounters(ctx, &c)
	})
	return c.keys(), report, err
}
