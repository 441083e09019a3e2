//go:build cuda

package rowid

import (
	"context"
	"fmt"
	"math/bits"
	"unsafe"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
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

// radix returns how a side of the given rows is partitioned by the given number of bits; 0:
// such that each partition has about one chunk of the match.
func (q *Queue) radix(key *device.Key, rows int64, bits int) (r radix, err error) {
	r.words = keyWords(key)
	chunk, err := q.kernels.module.Kernel(fmt.Sprintf("gj_partners_k%d", r.words))
	if err != nil {
		return r, err
	}
	first, err := q.kernels.module.Kernel(fmt.Sprintf("gj_first_k%d", r.words))
	if err != nil {
		return r, err
	}
	r.first, r.second = radixBits(rows, chunk.Rows, first.Fan, bits)
	return r, nil
}

func (r radix) partitions() int { return 1 << (r.first + r.second) }

// stripes returns the number of stripes, separate arrays over the rows of a partition, of key and
// row id: of 4 and of 8 bytes for what is left of stripes of 16 (kernels/layout/row.cuh).
func (r radix) stripes() int {
	words := uint(r.words + 1)
	return bits.OnesCount(words%4) + int(words/4)
}

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

// partitionBuild moves the keys and row ids of the build side to their partitions in the arena,
// as those of a join without probe rows. Rows whose key is NULL have none; rows of a partition
// have no order.
func (j *Join) partitionBuild(ctx context.Context) (err error) {
	q := j.q
	if j.keys, err = q.newKeyed(ctx, j.build, j.spec.Build, j.radix, &j.spec.Options); err != nil {
		return err
	}
	none, err := q.newKeyed(ctx, Side{}, &device.Key{Exact: true}, j.radix, &j.spec.Options)
	if err != nil {
		return err
	}
	d := j.radix.descriptor(j.keys, none)
	if d.Counters, d.Extra, err = q.planMemory(j.radix); err != nil {
		return err
	}
	join, err := q.arrange(ctx, &d)
	if err != nil {
		return err
	}
	if err := q.partition(join, buildSide, j.keys, j.radix); err != nil {
		return err
	}
	q.arena.Rewind(j.keys.mark)
	return nil
}

// partition partitions one side of a join and plans the match.
func (q *Queue) partition(join driver.Ptr, side int, k *keyed, r radix) error {
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
	return q.passes(join, side, k, r)
}

// passes moves rows to the destinations of the tables: of parents after the first of
// two passes, and of partitions after the last pass.
func (q *Queue) passes(join driver.Ptr, side int, k *keyed, r radix) error {
	parents, partitions, err := q.destinations(join, side, r)
	if err != nil {
		return err
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
	const lacking = 0 // no partition lacks space
	for _, pass := range passes {
		if err := q.launchTiles(fmt.Sprintf("%s_k%d", pass.name, r.words), k.rows, uint64(join), uint64(side), uint64(pass.to), lacking); err != nil {
			return err
		}
	}
	return nil
}

const destinationBytes = int(unsafe.Sizeof(destinationDescriptor{}))

// destinations makes the tables of where the rows of a side go: of the parents if there are two
// passes, and of the partitions.
func (q *Queue) destinations(join driver.Ptr, side int, r radix) (parents, partitions driver.Ptr, err error) {
	if r.second > 0 {
		if parents, err = q.arena.Take(int64(r.stripes()*destinationBytes) << r.first); err != nil {
			return 0, 0, err
		}
	}
	if partitions, err = q.arena.Take(int64(r.partitions() * r.stripes() * destinationBytes)); err != nil {
		return 0, 0, err
	}
	return parents, partitions, q.launch(fmt.Sprintf("gj_own_destinations_k%d", r.words), int64(r.partitions())/rowsPerBlock+1,
		uint64(join), uint64(side), uint64(parents), uint64(partitions))
}

// longestBucket is the maximum number of rows in a bucket of one table for all.
// One warp walks a bucket; more frequent keys need partitions, which spread
// them over the device.
const longestBucket = 4096

// mostTableRows bounds the rows of one table for all, which is one chunk of the match:
// the match rounds rows up to chunks in 32 bits.
const mostTableRows = 1 << 31

// prepareWhole makes one table of all build rows; false if a bucket is too
// long. It waits for the device once.
func (j *Join) prepareWhole(ctx context.Context) (bool, error) {
	q := j.q
	mark := q.arena.Mark()
	j.radix = radix{words: keyWords(j.spec.Build)}
	t := tableDescriptor{
		Capacity: uint64(bufferRows(j.build.Rows, 1, finalAlign)),
		Buckets:  max(4, uint64(1)<<bits.Len64(uint64(max(j.build.Rows, 1)-1))),
	}
	at, err := q.arena.Take(int64(t.Capacity) * int64(4*(j.radix.words+1)))
	if err != nil {
		return false, err
	}
	t.Rows = uint64(at)
	for _, cleared := range []struct {
		to    *uint64
		bytes int64
	}{{&t.Ends, 4 * int64(t.Buckets)}, {&t.Longest, 8}, {&t.Covered, j.build.Rows/8 + 4}} {
		at, err := q.arena.Take(cleared.bytes)
		if err != nil {
			return false, err
		}
		if err := q.stream.Memset(at, 0, cleared.bytes); err != nil {
			return false, err
		}
		*cleared.to = uint64(at)
	}
	table, err := q.arena.Take(descriptorBytes)
	if err != nil {
		return false, err
	}
	if err := j.partitionBuild(ctx); err != nil {
		return false, err
	}
	t.Count, t.Unordered = j.keys.Count, j.keys.Final
	if err := q.fill(ctx, table, t); err != nil {
		return false, err
	}
	inner := q.arena.Mark()
	blocks := j.build.Rows/rowsPerBlock + 1
	if err := q.launch(fmt.Sprintf("gj_count_buckets_k%d", j.radix.words), blocks, uint64(table)); err != nil {
		return false, err
	}
	longest, err := q.read(ctx, driver.Ptr(t.Longest), 1)
	if err != nil {
		return false, err
	}
	if longest[0] > longestBucket {
		q.arena.Rewind(mark)
		return false, nil
	}
	scan, err := q.scanState("gj_start_buckets", int64(t.Buckets))
	if err != nil {
		return false, err
	}
	if err := q.launchTiles("gj_start_buckets", int64(t.Buckets), uint64(table), uint64(scan)); err != nil {
		return false, err
	}
	if err := q.launch(fmt.Sprintf("gj_place_rows_k%d", j.radix.words), blocks, uint64(table)); err != nil {
		return false, err
	}
	q.arena.Rewind(inner)
	q.cost.Bytes += j.build.Rows*int64(12*(j.radix.words+1)) + 8*int64(t.Buckets)
	j.table = table
	return true, nil
}
