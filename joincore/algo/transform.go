package algo

import (
	"context"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Side is one side of a join whose relations are transformed before they are
// matched (GFTR, section 4).
type Side struct {
	Space  device.Space
	Key    *device.Key
	Carry  []joincore.ColumnRef // moved with the key: OM (GFTR); none: UM (GFUR)
	RowIDs []int                // inputs whose other columns are reached by row number
}

// Transformed is a build side that has been transformed. Several spaces may
// probe it, one after the other.
type Transformed interface {
	// Space holds the build rows as they are marked.
	Space() device.Space
	// Probe transforms a probe side alike and returns the source of matches.
	Probe(ctx context.Context, probe Side) (Matches, error)
	Release()
}

// Matches is the source of a join's result rows.
type Matches interface {
	Source
	Release() // frees the transformed probe side
}

// Transform partitions the build side of a join by so many radix bits.
func Transform(ctx context.Context, d device.Chunked, plan *Plan, build Side, bits int, c *Counter) (Transformed, error) {
	return newPartitionedBuild(ctx, d, plan, build, bits, c)
}

func rowsOf(s device.Space) int64 {
	n := int64(0)
	for _, r := range s.Segments() {
		n += int64(r)
	}
	return n
}

// timed adds what f takes to t.
func timed(t *time.Duration, f func() error) error {
	start := time.Now()
	err := f()
	*t += time.Since(start)
	return err
}
