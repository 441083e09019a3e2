//go:build cuda

package mgj

import (
	"context"
	"fmt"

	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/exchange"
)

// countFirst waits for the rows of both sides' first ranges, which only an exchange needs.
func (j *join) countFirst(ctx context.Context) error {
	for _, x := range j.shares {
		build, probe := make([]int64, x.Partitions()), make([]int64, x.Partitions())
		if j.cut.Sample {
			var err error
			if build, probe, err = x.Sample(ctx); err != nil {
				return err
			}
		}
		j.first[0], j.first[1] = append(j.first[0], build), append(j.first[1], probe)
	}
	j.ended("first ranges counted")
	return nil
}

// assign decides where rows go: in an exchange by the first range of both sides, while the
// GPUs count the other ones.
func (j *join) assign(ctx context.Context) error {
	var h exchange.Histograms
	for g := range j.shares {
		build, probe := j.first[0][g], j.first[1][g]
		if j.cold != nil {
			probe = evenRows(j.cold[g], len(probe), j.cut.Ranges[1])
		}
		h[exchange.Build] = append(h[exchange.Build], estimated(build, j.cut.Ranges[0]))
		h[exchange.Probe] = append(h[exchange.Probe], estimated(probe, j.cut.Ranges[1]))
	}
	width := [2]int64{j.shares[0].RowBytes(0), j.shares[0].RowBytes(1)}
	var err error
	if j.to, err = j.options.Strategy.receivers(h, j.group.mesh, width, fullest(j.parts)); err != nil {
		return err
	}
	j.ended("assigned")
	for i, x := range j.shares {
		counts, err := x.BuildCounts(ctx)
		if err != nil {
			return err
		}
		j.addCounts(i, 0, counts)
	}
	j.ended("build side counted")
	return nil
}

// addCounts adds the counts of a GPU's flows from the given one on.
func (j *join) addCounts(gpu, flow int, counts [][]int64) {
	if gpu == 0 {
		j.counts = append(j.counts, make([][][]int64, len(counts))...)
	}
	for i, list := range counts {
		j.counts[flow+i] = append(j.counts[flow+i], list)
	}
}

// place gives all rows places on the GPUs that receive them, and sends them. The build side
// is sent and partitioned while the probe side is still counted, if memory is not short;
// else all memory is taken before any row is sent. place returns how many flows have their
// second pass queued.
func (j *join) place(ctx context.Context) (queued int, err error) {
	builds := j.shares[0].Builds()
	dropUnmatched(j.to, j.counts[:builds])
	build, rows, err := j.placeSide(0, j.counts[:builds])
	if err != nil {
		return 0, err
	}
	j.ended("build side placed")
	sent := 0
	if early := !j.cut.Staged && j.fits(rows); !early {
		if err := j.countCold(ctx); err != nil {
			return 0, err
		}
	} else {
		sent, queued = builds, builds
		j.each(func(i int, x *phj.Share) {
			x.AssignBuild(j.shares, i, build[i])
			j.send(x, 0, builds)
		})
		j.ended("build side queued")
		if err := j.countCold(ctx); err != nil {
			return 0, err
		}
		j.each(func(i int, x *phj.Share) { // behind what all GPUs send
			x.Prepare(0)
			for flow := range builds {
				j.second(i, flow)
			}
		})
	}
	for i, x := range j.shares {
		counts, err := x.ProbeCounts(ctx)
		if err != nil {
			return 0, err
		}
		j.addCounts(i, builds, counts)
	}
	j.ended("probe side counted")
	probe, _, err := j.placeSide(1, j.counts[builds:])
	if err != nil {
		return 0, err
	}
	j.ended("probe side placed")
	j.each(func(i int, x *phj.Share) {
		if sent == 0 {
			x.AssignBuild(j.shares, i, build[i])
		}
		x.AssignProbe(j.shares, i, probe[i])
		j.send(x, sent, len(j.counts))
	})
	j.ended("probe side queued")
	return queued, nil
}

// send queues the flows from one on to the one before end.
func (j *join) send(x *phj.Share, from, end int) {
	for flow := from; flow < end; flow++ {
		x.Send(flow, j.blocks[flow])
	}
}

// fits reports whether each GPU has memory for the given build rows, and for the probe
// rows that it can expect.
func (j *join) fits(build []int64) bool {
	for i, x := range j.shares {
		probe := j.cut.Rows[1]
		if j.options.Strategy == Exchange {
			probe = probe/int64(len(j.shares))*9/8 + 1<<16
		}
		if !x.Fits([2]int64{build[i], probe}, partOf(j.cut.OutputRows, probe, j.cut.Rows[1])) {
			return false
		}
	}
	return true
}

// placeSide gives the rows of a side's flows places, and takes the memory for them. It
// returns where each GPU sends rows, and the rows that each receives.
func (j *join) placeSide(side int, flows [][][]int64) (assigned []phj.Assigned, rows []int64, err error) {
	next := make([]int64, len(j.shares))
	rows = make([]int64, len(j.shares))
	assigned = make([]phj.Assigned, len(j.shares))
	staged := make([][][]phj.Block, len(j.shares))
	for i := range assigned {
		assigned[i].To = j.to[side]
	}
	for _, counts := range flows {
		sendings, arrivals, apart := j.layOut(counts, side, next)
		for i := range assigned {
			assigned[i].Sendings = append(assigned[i].Sendings, sendings[i])
			assigned[i].Arrivals = append(assigned[i].Arrivals, arrivals[i])
			if j.cut.Staged {
				staged[i] = append(staged[i], apart[i])
			}
		}
		j.staged = append(j.staged, apart)
		got := received(counts, j.to[side])
		for i, n := range got {
			rows[i] += n
		}
		j.received = append(j.received, got)
		blocks, leave := 0, crossing(counts, j.to[side])
		if leave > 0 {
			blocks = j.sending(len(j.blocks))
		}
		j.blocks = append(j.blocks, blocks)
		j.report.Bytes += leave * j.shares[0].RowBytes(side)
	}
	for i, x := range j.shares {
		if side == 0 {
			err = x.TakeBuild(rows[i], next[i], staged[i])
		} else {
			err = x.TakeProbe(rows[i], next[i], staged[i], outputRows(j.cut.OutputRows, i, rows))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("GPU %d: %w", i, err)
		}
	}
	return assigned, rows, nil
}

// layOut gives the rows of a flow places: where each GPU sends them, and what each finds.
func (j *join) layOut(counts [][]int64, side int, next []int64) (sendings []phj.Sending, arrivals [][]phj.Arrival, blocks [][]phj.Block) {
	unit := j.shares[0].Unit(side)
	if j.cut.Staged {
		return phj.PlaceBlocks(counts, j.to[side], unit, next)
	}
	sendings, whole := phj.Place(counts, j.to[side], unit, next)
	for _, a := range whole {
		arrivals = append(arrivals, []phj.Arrival{a})
	}
	return sendings, arrivals, nil
}
