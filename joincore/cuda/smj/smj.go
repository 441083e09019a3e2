//go:build cuda

package smj

import (
	"context"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/launch"
	"gpujoin/joincore/cuda/resident"
)

// OM sorts payload with the key.
func OM(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *resident.Join) (*resident.Output, *resident.Report, error) {
	return launch.Run(ctx, d, s, a, j, "smj-om", func(ctx context.Context, b *launch.Job) (*resident.Output, error) {
		return (&run{Job: b}).run(ctx)
	})
}

// UM sorts row numbers with the key and gathers payload by them.
func UM(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *resident.Join) (*resident.Output, *resident.Report, error) {
	return launch.Run(ctx, d, s, a, j, "smj-um", func(ctx context.Context, b *launch.Job) (*resident.Output, error) {
		return (&run{Job: b, untransformed: true}).run(ctx)
	})
}

// run is one join on its way.
type run struct {
	*launch.Job
	untransformed bool

	sort    sortDescriptor
	merge   mergeDescriptor
	sources [2]launch.Source
	pass    *driver.Kernel
	tiles   int64       // of a radix pass
	behind  driver.Mark // where the result may begin: behind what the merge reads
}

func (r *run) run(ctx context.Context) (*resident.Output, error) {
	r.plan()
	r.takeBuffers()
	r.sortSides()
	out := r.mergeSides(r.Join.OutputRows)
	rows, err := r.Rows(ctx, r.merge.Result.Rows)
	if err == nil && rows > int64(r.merge.Result.Capacity) {
		// Merged once more, into room for the rows that the first time has counted.
		out = r.mergeSides(rows)
		rows, err = r.Rows(ctx, r.merge.Result.Rows)
	}
	if err != nil {
		return nil, err
	}
	return out.Result(rows), nil
}

// sortSides queues the histograms and the passes.
func (r *run) sortSides() {
	keyWords := r.Join.Build.Key.Bytes / 4
	at := launch.Put(r.Job, &r.sort)
	count := r.Kernel("gj_sort_count_k%d", keyWords)
	rows := r.Sides[0].Rows + r.Sides[1].Rows
	// Each side has a block of its own at least.
	r.Launch(count, int(max(2, min(int64(count.Blocks*r.SMs), rows/countRows))), at)
	r.Phase("histogram", rows*int64(r.Join.Build.Key.Bytes))
	for p := range r.sort.Passes {
		r.Launch(r.pass, r.Grid(r.pass, r.tiles), at, p)
	}
	r.Phase("sort", 2*int64(r.sort.Passes)*r.sortedBytes())
}

// countRows is what a block of the histogram kernel reads at least.
const countRows = 8192

// mergeSides queues the merge into room for so many rows, and the gathers.
func (r *run) mergeSides(rows int64) *launch.Output {
	keyWords := r.Join.Build.Key.Bytes / 4
	r.Rewind(r.behind)
	zero := r.Take(3 * 8)
	r.Set(zero, 0, 3*8)
	r.merge.Grouped, r.merge.Slice = zero, zero+8
	out := r.TakeOutput(rows, zero+16, r.sources)
	r.merge.Result = out.Match
	at := launch.Put(r.Job, &r.merge)
	split, merge, groups := r.Kernel("gj_merge_split_k%d", keyWords), r.Kernel("gj_merge_k%d", keyWords), r.Kernel("gj_merge_groups_k%d", keyWords)
	r.Launch(split, int(r.merge.Tiles)/max(split.Threads, 1)+1, at)
	r.Launch(merge, r.Grid(merge, int64(r.merge.Tiles)), at)
	r.Launch(groups, groups.Blocks*r.SMs, at)
	r.Phase("merge", r.sortedBytes()+out.Bytes())
	r.GatherPayload(out)
	return out
}
