//go:build cuda

package rowid

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// Destination is space for the rows of one partition in one lane: any memory that the
// device can write, also on another device.
type Destination struct {
	At   driver.Ptr // the first row, a multiple of 16
	Rows int64      // capacity
}

// Lanes returns the bytes per row of key and row id in each lane, a separate array over
// the rows of a partition. A row is words of 4 bytes, the key's first, then the id;
// lanes hold them in this order.
func Lanes(key *device.Key) []int { return lanesOf(keyWords(key) + 1) }

// lanesOf returns the lanes of rows of the given words (kernels/layout/row.cuh).
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
