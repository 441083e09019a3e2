//go:build cuda

package mgj

import "context"

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
	for _, x := range j.shares {
		x.FillFilter(j.shares)
	}
	for i, x := range j.shares {
		x.MergeFilter(j.shares, i)
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
