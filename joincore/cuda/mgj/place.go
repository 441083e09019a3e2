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
// GPUs count the other ones and those counts are still being queued.
func (j *join) assign(ctx context.Context) error {
	err := j.decide()
	j.crew.wait()
	if err != nil {
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

// decide says which GPUs get rows.
func (j *join) decide() error {
	var h exchange.Histograms
	for g := range j.shares {
		build, probe := j.first[0][g], j.first[1][g]
		if j.cold != nil {
			probe = evenRows(j.cut.Ranges[1].First(j.cold[g]), len(probe))
		}
		h[exchange.Build] = append(h[exchange.Build], estimated(build, j.cut.Ranges[0]))
		h[exchange.Probe] = append(h[exchange.Probe], estimated(probe, j.cut.Ranges[1]))
	}
	width := [2]int64{j.shares[0].RowBytes(0), j.shares[0].RowBytes(1)}
	a, err := j.options.Strategy.assign(h, j.group.mesh, width, fullest(j.parts), j.room())
	j.to, j.expect = a.to, h[exchange.Probe]
	j.report.Copies, j.report.Assigned = a.copied, a.bytes
	return err
}

// room returns the memory that the GPUs have for the rows that they join; nil if none may be
// copied.
func (j *join) room() *room {
	if j.options.Strategy != Exchange || j.options.NoCopies {
		return nil
	}
	r := &room{held: [2]int64{j.shares[0].HeldBytes(0), j.shares[0].HeldBytes(1)}}
	for _, x := range j.shares {
		r.free = append(r.free, x.Room(partOf(j.cut.OutputRows, j.evenProbe(), j.cut.Rows[1])))
	}
	return r
}

// evenProbe returns the probe rows that each GPU joins in an exchange, if they are even, and some to
// spare.
func (j *join) evenProbe() int64 { return spared(j.cut.Rows[1] / int64(len(j.shares))) }

// spared adds to an expected number of rows what counts may differ from it.
func spared(rows int64) int64 { return rows*9/8 + 1<<16 }

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
	early := j.cut.Way != phj.Stage && j.fits(builds)
	if j.cut.Way == phj.Copy && j.packs && !early {
		j.packs = false
		early = j.fits(builds)
	}
	if j.cut.Way == phj.Copy && !early {
		j.storeInstead()
		early = j.fits(builds)
	}
	early = early && !j.options.NoOverlap
	build, err := j.placeSide(0, j.counts[:builds])
	if err != nil {
		return 0, err
	}
	j.ended("build side placed")
	sent := 0
	if !early {
		if err := j.countCold(ctx); err != nil {
			return 0, err
		}
	} else {
		sent, queued = builds, builds
		j.each(func(i int, x *phj.Share) {
			x.AssignBuild(j.shares, i, build[i])
			j.send(ctx, i, 0, builds)
		})
		j.ended("build side queued")
		if err := j.countCold(ctx); err != nil {
			return 0, err
		}
		j.each(func(i int, x *phj.Share) { // behind what all GPUs send
			x.Prepare(0)
			j.secondPasses(i, 0, builds)
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
	probe, err := j.placeSide(1, j.counts[builds:])
	if err != nil {
		return 0, err
	}
	j.ended("probe side placed")
	j.each(func(i int, x *phj.Share) {
		if sent == 0 {
			x.AssignBuild(j.shares, i, build[i])
		}
		x.AssignProbe(j.shares, i, probe[i])
		j.send(ctx, i, sent, len(j.counts))
	})
	j.ended("probe side queued")
	return queued, nil
}

// send has GPU i send the flows from one on to the one before end.
func (j *join) send(ctx context.Context, i, from, end int) {
	for flow := from; flow < end; flow++ {
		j.shares[i].Send(flow, j.blocks[flow])
		if j.cut.Way == phj.Copy && !j.packs {
			j.copyFrom(i, flow)
		}
	}
	if j.cut.Way != phj.Copy || !j.packs || from == end {
		return
	}
	j.pack(i, from)
	for flow := from; flow < end; flow++ {
		j.packNext(ctx, i, flow, end)
		j.copyFrom(i, flow)
	}
}

// copyFrom queues the copies of a flow from GPU i to the others.
func (j *join) copyFrom(i, flow int) {
	var pieces []phj.Piece
	for gpus, k := len(j.shares), 1; k < gpus; k++ { // not all to the same GPU at once
		pieces = append(pieces, j.pieces(flow, i, (i+k)%gpus)...)
	}
	j.shares[i].Copy(flow, pieces)
}

// storeInstead has GPUs store rows into the memory of others, for which they need no memory of
// their own.
func (j *join) storeInstead() {
	j.cut.Way, j.report.Way = phj.Store, phj.Store
	for _, x := range j.shares {
		x.StoreInstead()
	}
}

// fits reports whether each GPU has memory for the build rows that it receives in the given
// number of flows, and for the probe rows that it can expect.
func (j *join) fits(builds int) bool {
	build := make([]int64, len(j.shares))
	for _, counts := range j.counts[:builds] {
		for i, n := range received(counts, j.to[0]) {
			build[i] += n
		}
	}
	expected := received(j.expect, j.to[1])
	for i, x := range j.shares {
		probe, blocks, packed := j.cut.Rows[1], [2]int64{}, [2]int64{}
		if j.options.Strategy == Exchange {
			probe = max(j.evenProbe(), spared(expected[i]))
		}
		if j.cut.Way == phj.Copy {
			blocks = j.inBlocks(i, builds)
		}
		if j.packs { // what is sent, and what is received
			packed = [2]int64{blocks[0] + build[i], blocks[1]}
			if j.options.Strategy == Exchange {
				packed[1] += probe
			}
		}
		if !x.Fits([2]int64{build[i], probe}, blocks, packed, partOf(j.cut.OutputRows, probe, j.cut.Rows[1])) {
			return false
		}
	}
	return true
}

// inBlocks returns the rows of each side that GPU i has in blocks for others: those of the build
// side in the given number of flows, and those of the probe side that can be expected, if they
// move.
func (j *join) inBlocks(i, builds int) (rows [2]int64) {
	for _, counts := range j.counts[:builds] {
		for r := range j.shares {
			if r != i {
				rows[0] += receivedOf(counts[i], j.to[0], i, r)
			}
		}
	}
	if n := int64(len(j.shares)); j.options.Strategy == Exchange {
		rows[1] = j.shares[i].Rows(1) / n * (n - 1)
		leaving := int64(0)
		for r := range j.shares {
			if r != i {
				leaving += receivedOf(j.expect[i], j.to[1], i, r)
			}
		}
		rows[1] = max(rows[1], leaving) * 9 / 8
	}
	return rows
}

// placeSide gives the rows of a side's flows places, and takes the memory for them. It
// returns where each GPU sends rows.
func (j *join) placeSide(side int, flows [][][]int64) (assigned []phj.Assigned, err error) {
	next := make([]int64, len(j.shares))
	rows := make([]int64, len(j.shares))
	assigned = make([]phj.Assigned, len(j.shares))
	for i := range assigned {
		assigned[i].To = j.to[side]
	}
	for _, counts := range flows {
		sendings, arrivals, apart := j.layOut(counts, side, next)
		for i := range assigned {
			assigned[i].Sendings = append(assigned[i].Sendings, sendings[i])
			assigned[i].Arrivals = append(assigned[i].Arrivals, arrivals[i])
		}
		j.staged = append(j.staged, apart)
		for i, n := range received(counts, j.to[side]) {
			rows[i] += n
		}
		blocks, leave := 0, crossing(counts, j.to[side])
		if leave > 0 {
			blocks = j.sending(len(j.blocks))
		}
		j.blocks = append(j.blocks, blocks)
		j.report.Bytes += leave * j.shares[0].RowBytes(side)
	}
	parts := rows
	if side == 1 && j.report.Copies > 0 {
		parts = shares(j.counts[:j.shares[0].Builds()], flows, j.to)
	}
	for i, x := range j.shares {
		if side == 0 {
			err = x.TakeBuild(rows[i], next[i])
		} else {
			err = x.TakeProbe(rows[i], next[i], outputRows(j.cut.OutputRows, i, parts))
		}
		if err == nil && j.packs {
			err = x.TakeCompressed(side, i, assigned[i])
		}
		if err != nil {
			return nil, fmt.Errorf("GPU %d: %w", i, err)
		}
	}
	return assigned, nil
}

// layOut gives the rows of a flow places: where each GPU sends them, and what each finds.
func (j *join) layOut(counts [][]int64, side int, next []int64) (sendings []phj.Sending, arrivals [][]phj.Arrival, blocks [][]phj.Block) {
	unit := j.shares[0].Unit(side)
	if j.cut.Way != phj.Store {
		return phj.PlaceBlocks(counts, j.to[side], unit, next)
	}
	sendings, whole := phj.Place(counts, j.to[side], unit, next)
	for _, a := range whole {
		arrivals = append(arrivals, []phj.Arrival{a})
	}
	return sendings, arrivals, nil
}
