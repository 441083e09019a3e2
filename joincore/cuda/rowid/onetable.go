//go:build cuda

package rowid

import (
	"context"
	"fmt"
	"math/bits"

	"gpujoin/joincore/cuda/driver"
)

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
