//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// jointFilter is a filter of the build keys of all devices.
type jointFilter struct {
	filter
	all    uint64      // the addresses of all devices' filters
	parts  uint64      // copies of this device's part of the other ones, if they are copied
	bottom driver.Mark // before all of it
	behind driver.Mark // behind what is left of the probe side
}

// filterUnit is the bytes of a unit of filters, of which devices merge parts.
const filterUnit = 16

// TakeFilter takes memory for a Bloom filter of all devices' build keys, and for the rows
// that it leaves of the probe side. false: there is too little, or row ids are wanted,
// which the rows that are left do not have.
func (x *Share) TakeFilter() (ok bool, err error) {
	r, f := x.run, &x.filter
	if r.Join.RowIDs {
		return false, nil
	}
	if err := r.loadFilter(&f.filter); err != nil {
		return false, err
	}
	f.bottom = r.Mark()
	err = r.Attempt(func() (err error) {
		f.left, err = r.takeReduced(r.Join.Probe.Rows)
		f.behind = r.Mark()
		r.takeFilter(&f.filter, driver.Lines(costmodel.FilterBytes(x.cut.Rows[0])))
		f.all = r.Take(int64(8 * x.cut.Devices))
		if x.cut.Way == Stage {
			f.parts = r.Take(int64(x.cut.Devices) * x.mostOfPart())
		}
		return err
	})
	if errors.Is(err, joincore.ErrBudget) {
		x.DropFilter()
		return false, nil
	}
	return err == nil, err
}

// DropFilter gives back what TakeFilter has taken.
func (x *Share) DropFilter() { x.run.Rewind(x.filter.bottom) }

// filterPart returns the units of the filters that a device merges.
func (x *Share) filterPart(device int) (from, to uint64) {
	units, n := x.filter.words*8/filterUnit, uint64(x.cut.Devices)
	return units * uint64(device) / n, units * uint64(device+1) / n
}

// mostOfPart is the most bytes of a part.
func (x *Share) mostOfPart() int64 {
	return (int64(x.filter.words*8/filterUnit)/int64(x.cut.Devices) + 1) * filterUnit
}

// copiedPart is where this device has its part of another device's filter.
func (x *Share) copiedPart(device int) uint64 {
	return x.filter.parts + uint64(int64(device)*x.mostOfPart())
}

// FillFilter enters the build keys of this device, self. all are the shares of all devices,
// of which each has taken a filter.
func (x *Share) FillFilter(all []*Share, self int) {
	r, f := x.run, &x.filter
	var addresses []uint64
	from, _ := x.filterPart(self)
	for g, other := range all {
		at := other.filter.at
		if x.cut.Way == Stage && g != self {
			at = x.copiedPart(g) - from*filterUnit
		}
		addresses = append(addresses, at)
	}
	r.PutAt(f.all, columnar.BytesOf(addresses))
	r.copyIn()
	r.clear()
	r.fillFilter(&f.filter)
	r.Do(func() error { return x.stream.Record(x.sender.first) })
}

// WaitFilled waits for FillFilter.
func (x *Share) WaitFilled(ctx context.Context) error { return x.counted(ctx, x.sender.first) }

// FilterPart returns the copy of the part of this device's filter that another one merges.
// Their numbers are self and to.
func (x *Share) FilterPart(self, to int, other *Share) []Piece {
	first, end := x.filterPart(to)
	return filterPiece(x.filter.at+first*filterUnit, other.copiedPart(self), end-first)
}

// MergeFilter brings the bits of all filters into a part of each of them: the one with
// this device's number, self. Filters that are copied are merged in this device's alone.
func (x *Share) MergeFilter(all []*Share, self int) {
	r, k := x.run, x.sender.filters
	if x.cut.Way != Stage {
		for _, other := range all {
			r.Do(func() error { return x.stream.Wait(other.sender.first) })
		}
	}
	from, to := x.filterPart(self)
	r.Launch(k, k.Grid(int64(to-from)/int64(k.Rows)+1), x.filter.all, uint64(len(all)), from, to)
	r.Do(func() error { return x.stream.Record(x.sender.counted) })
	r.phase(columnar.PhaseFilter)
}

// WaitMerged waits for MergeFilter.
func (x *Share) WaitMerged(ctx context.Context) error { return x.counted(ctx, x.sender.counted) }

// MergedPart returns the copy of the part that this device, self, has merged into the filter
// of another one.
func (x *Share) MergedPart(self int, other *Share) []Piece {
	first, end := x.filterPart(self)
	return filterPiece(x.filter.at+first*filterUnit, other.filter.at+first*filterUnit, end-first)
}

func filterPiece(from, to, units uint64) []Piece {
	if units == 0 {
		return nil
	}
	return []Piece{{From: driver.Ptr(from), To: driver.Ptr(to), Bytes: int64(units * filterUnit)}}
}

// StartReduce begins to drop the probe rows that the merged filter rejects.
func (x *Share) StartReduce(all []*Share) {
	if x.cut.Way != Stage {
		for _, other := range all {
			x.run.Do(func() error { return x.stream.Wait(other.sender.counted) })
		}
	}
	x.run.startReduction(&x.filter.filter, x.run.Join.Probe.Rows)
}

// Reduced waits for StartReduce and returns the rows that are left, which now are the probe
// side.
func (x *Share) Reduced(ctx context.Context) (rows int64, err error) {
	r, f := x.run, &x.filter
	counted, err := r.Peeked(ctx)
	if err != nil {
		return 0, err
	}
	rows = int64(counted[counterKept])
	if rows > r.Join.Probe.Rows {
		return 0, fmt.Errorf("phj: a filter leaves %d rows of %d", rows, r.Join.Probe.Rows)
	}
	r.Rewind(f.behind)
	r.bloom = true
	r.replaceProbe(f.left, rows)
	x.cutSide(1)
	return rows, nil
}
