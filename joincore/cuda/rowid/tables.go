//go:build cuda

package rowid

import (
	"context"
	"fmt"

	"gpujoin/joincore/cuda/driver"
)

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
