//go:build cuda

package rowid

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// Destination is space for the rows of one partition in one lane: any memory that the
// device can write, also on another device.
type Destination struct {
	At   driver.Ptr // the first row, a multiple of 16
	Rows int64      // capacity
}

// lanesOf returns the bytes per row of key and row id in each lane, a separate array over the
// rows of a partition. A row is words of 4 bytes, the key's first, then the id; lanes hold them
// in this order (kernels/layout/row.cuh).
func lanesOf(words int) []int {
	var lanes []int
	if words&1 != 0 {
		lanes = append(lanes, 4)
	}
	if words&2 != 0 {
		lanes = append(lanes, 8)
	}
	for range words / 4 {
		lanes = append(lanes, 16)
	}
	return lanes
}

// NoRoomError says that the rows of a partition do not fit their destination. Nothing was
// written.
type NoRoomError struct {
	Partition int   // the first that does not fit
	Missing   int64 // rows
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("partition %d lacks space for %d rows", e.Partition, e.Missing)
}

// Unwrap makes it an error of the budget.
func (e *NoRoomError) Unwrap() error { return joincore.ErrBudget }

// checkDestinations returns an error unless the table has all partitions' destinations.
func checkDestinations(to []Destination, partitions, lanes int) error {
	if len(to) != partitions*lanes {
		return fmt.Errorf("%d destinations for %d partitions in %d lanes: %w", len(to), partitions, lanes, joincore.ErrInvalid)
	}
	for i, d := range to {
		if d.At%16 != 0 || d.Rows < 0 || d.At == 0 && d.Rows > 0 {
			return fmt.Errorf("partition %d goes to %#x, %d rows: %w", i/lanes, d.At, d.Rows, joincore.ErrInvalid)
		}
	}
	return nil
}

// table is a table of destinations on the device.
type table struct {
	at      driver.Ptr
	lacking driver.Ptr // partition << 32 | rows, nothingLacks if all fit
}

// nothingLacks is the value that find_lacking leaves if all partitions fit.
const nothingLacks = ^uint64(0)

const destinationBytes = 16

// given copies destinations to the device; nil stays nil.
func (q *Queue) given(ctx context.Context, to []Destination) (*table, error) {
	if to == nil {
		return nil, nil
	}
	list := make([]destinationDescriptor, len(to))
	for i, d := range to {
		list[i] = destinationDescriptor{At: uint64(d.At), Rows: uint64(d.Rows)}
	}
	at, err := q.upload(ctx, list)
	if err != nil {
		return nil, err
	}
	lacking, err := q.upload(ctx, nothingLacks)
	return &table{at, lacking}, err
}

// ownDestinations makes the tables of a side's own buffers: of the parents, and of the
// partitions if `final`.
func (q *Queue) ownDestinations(join driver.Ptr, side int, r radix, final bool) (parents, partitions driver.Ptr, err error) {
	take := func(n int) (at driver.Ptr) {
		if err == nil {
			at, err = q.arena.Take(int64(n * r.lanes() * destinationBytes))
		}
		return at
	}
	if r.second > 0 {
		parents = take(1 << r.first)
	}
	if final {
		partitions = take(r.partitions())
	}
	if err != nil || parents == 0 && partitions == 0 {
		return 0, 0, err
	}
	return parents, partitions, q.launch(fmt.Sprintf("gj_own_destinations_k%d", r.words), int64(r.partitions())/rowsPerBlock+1,
		uint64(join), uint64(side), uint64(parents), uint64(partitions))
}
