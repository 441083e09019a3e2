//go:build cuda

package rowid

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// Destination is room for the rows of one partition in one lane: anywhere that
// the device can write to, on another device as well.
type Destination struct {
	At   driver.Ptr // the first row, a multiple of 16
	Rows int64      // that there is room for
}

// Lanes returns the bytes that a row of key and row id has in each lane, which
// is an array of its own over the rows of a partition. A row is words of 4
// bytes, those of the key first, then the id; lanes have them in this order.
func Lanes(key *device.Key) []int { return lanesOf(keyWords(key) + 1) }

// lanesOf are the lanes of rows of so many words (kernels/layout/row.cuh).
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

// NoRoomError says that rows of a partition do not fit where they should go.
// Nothing was written then.
type NoRoomError struct {
	Partition int   // the first that lacks room
	Rows      int64 // so much
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("partition %d lacks room for %d rows", e.Partition, e.Rows)
}

// Unwrap makes it an error of the budget.
func (e *NoRoomError) Unwrap() error { return joincore.ErrBudget }

// checkDestinations refuses tables that do not say where each partition goes.
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
