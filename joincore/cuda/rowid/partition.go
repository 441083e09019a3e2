//go:build cuda

package rowid

import (
	"context"
	"fmt"

	"gpujoin/joincore/cuda/driver"
)

// Sides of a join.
const (
	buildSide = iota
	probeSide
)

// radix describes how both sides of a join are partitioned.
type radix struct {
	words         int // of a normalised key
	first, second int // bits of the two passes
}

func (r radix) partitions() int { return 1 << (r.first + r.second) }

// lanes returns the number of lanes of a row of key and row id.
func (r radix) lanes() int { return len(lanesOf(r.words + 1)) }

// descriptor describes both sides of a join for partitioning.
func (r radix) descriptor(build, probe *keyed) partitionDescriptor {
	return partitionDescriptor{
		Side:      [2]keyedDescriptor{build.keyedDescriptor, probe.keyedDescriptor},
		BitsFirst: uint64(r.first), BitsSecond: uint64(r.second),
		ChunkRows: 1, RangeRows: 1,
	}
}

// arrange makes the descriptor of a join's partitions on the device.
func (q *Queue) arrange(ctx context.Context, d *partitionDescriptor) (driver.Ptr, error) {
	k, err := q.kernels.module.Kernel("gj_arrange")
	if err != nil {
		return 0, err
	}
	join, err := q.arena.Take(int64(k.Rows))
	if err != nil {
		return 0, err
	}
	from, err := q.upload(ctx, d)
	if err != nil {
		return 0, err
	}
	return join, q.launch("gj_arrange", 1, uint64(from), uint64(join))
}

// planMemory takes the cleared counters of a match and memory for its extra work items.
func (q *Queue) planMemory(r radix) (counters, extra uint64, err error) {
	const counterBytes = 64
	c, err := q.arena.Take(counterBytes)
	if err != nil {
		return 0, 0, err
	}
	e, err := q.arena.Take(8 * int64(max(4, r.partitions())+1))
	if err != nil {
		return 0, 0, err
	}
	return uint64(c), uint64(e), q.stream.Memset(c, 0, counterBytes)
}

// partition partitions one side of a join and plans the match. to: the destinations;
// nil: the final buffer.
func (q *Queue) partition(join driver.Ptr, side int, k *keyed, r radix, to *table) error {
	if r.first > 0 {
		name := fmt.Sprintf("gj_histogram_k%d", r.words)
		h, err := q.kernels.module.Kernel(name)
		if err != nil {
			return err
		}
		shared := 4 * max(4, r.partitions())
		if r.first+r.second > 15 {
			shared /= 2
		}
		q.cost.Launches++
		if err := h.LaunchShared(q.stream, q.resident(h), shared, uint64(join), uint64(side)); err != nil {
			return err
		}
	}
	q.cost.Launches++
	offsets, err := q.kernels.module.Kernel("gj_offsets")
	if err != nil {
		return err
	}
	if err := offsets.Launch(q.stream, offsets.Rows, uint64(join)); err != nil {
		return err
	}
	if r.first == 0 || k.rows == 0 {
		return nil
	}
	return q.passes(join, side, k, r, to)
}

// passes moves rows to the destinations of the tables: of parents after the first of
// two passes, and of partitions after the last pass.
func (q *Queue) passes(join driver.Ptr, side int, k *keyed, r radix, to *table) error {
	parents, partitions, err := q.ownDestinations(join, side, r, to == nil)
	if err != nil {
		return err
	}
	var lacking driver.Ptr
	if to != nil {
		partitions, lacking = to.at, to.lacking
		if err := q.launch("gj_find_lacking", int64(r.partitions())/rowsPerBlock+1, uint64(join), uint64(side), uint64(to.at), uint64(r.lanes()), uint64(lacking)); err != nil {
			return err
		}
	}
	passes := []struct {
		name string
		to   driver.Ptr
	}{{"gj_first", parents}, {"gj_second", partitions}}
	if r.second == 0 {
		passes = passes[:1]
		passes[0].to = partitions
	}
	q.cost.Bytes += k.rows * int64(4*r.words+len(passes)*8*(r.words+1))
	for _, pass := range passes {
		if err := q.launchTiles(fmt.Sprintf("%s_k%d", pass.name, r.words), k.rows, uint64(join), uint64(side), uint64(pass.to), uint64(lacking)); err != nil {
			return err
		}
	}
	return nil
}
