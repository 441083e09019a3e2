//go:build cuda

package mgj

import (
	"context"

	"gpujoin/joincore/cuda/columnar/phj"
)

// reduce drops the probe rows that a Bloom filter of all GPUs' build keys rejects, unless
// a GPU has too little memory.
func (j *join) reduce(ctx context.Context) error {
	for i, x := range j.shares {
		ok, err := x.TakeFilter()
		if err != nil {
			return err
		}
		if !ok {
			for _, taken := range j.shares[:i] {
				taken.DropFilter()
			}
			return nil
		}
	}
	for i, x := range j.shares {
		x.FillFilter(j.shares, i)
	}
	if err := j.copyFilters(ctx, (*phj.Share).WaitFilled, func(from, to int) []phj.Piece {
		return j.shares[from].FilterPart(from, to, j.shares[to])
	}); err != nil {
		return err
	}
	for i, x := range j.shares {
		x.MergeFilter(j.shares, i)
	}
	if err := j.copyFilters(ctx, (*phj.Share).WaitMerged, func(from, to int) []phj.Piece {
		return j.shares[from].MergedPart(from, j.shares[to])
	}); err != nil {
		return err
	}
	for _, x := range j.shares {
		x.StartReduce(j.shares)
	}
	j.cut.Rows[1] = 0
	for _, x := range j.shares {
		rows, err := x.Reduced(ctx)
		if err != nil {
			return err
		}
		j.cut.Rows[1] += rows
	}
	return nil
}

// copyFilters copies parts of filters from each GPU to each other one, when all of them have
// been written, if the kernels do not reach other GPUs' memory.
func (j *join) copyFilters(ctx context.Context, written func(*phj.Share, context.Context) error, pieces func(from, to int) []phj.Piece) error {
	if j.cut.Way != phj.Stage {
		return nil
	}
	return j.copy(ctx, func(x *phj.Share) error { return written(x, ctx) }, pieces)
}
