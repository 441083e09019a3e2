//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/joincore/cuda/driver"
)

// filter is a Bloom filter of the build keys of all devices.
type filter struct {
	fill, reduce *driver.Kernel
	at, words    uint64
	all          uint64 // the addresses of all devices' filters
	left         columnar.Side
	bottom       driver.Mark // before all of it
	behind       driver.Mark // behind what is left of the probe side
}

// TakeFilter takes memory for a Bloom filter of all devices' build keys, and for the rows
// that it leaves of the probe side. false: there is too little, or row ids are wanted,
// which the rows that are left do not have.
func (x *Share) TakeFilter() (ok bool, err error) {
	r, f := x.run, &x.filter
	if r.Join.RowIDs {
		return false, nil
	}
	if f.fill, err = r.state.steps.Kernel(fmt.Sprintf("gj_filter_k%d", r.keyWords)); err != nil {
		return false, err
	}
	if f.reduce, err = r.state.steps.Kernel(fmt.Sprintf("gj_reduce_k%d", r.keyWords)); err != nil {
		return false, err
	}
	f.bottom = r.Mark()
	bytes := driver.Lines(costmodel.FilterBytes(x.cut.Rows[0]))
	f.words = uint64(bytes / 8)
	err = r.Attempt(func() (err error) {
		f.left, err = r.takeReduced(r.Join.Probe.Rows)
		f.behind = r.Mark()
		f.at, f.all = r.Take(bytes), r.Take(int64(8*x.cut.Devices))
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

// FillFilter enters this device's build keys. all are the shares of all devices, of which
// each has taken a filter.
func (x *Share) FillFilter(all []*Share) {
	r, f := x.run, &x.filter
	var addresses []uint64
	for _, other := range all {
		addresses = append(addresses, other.filter.at)
	}
	launch.PutAt(r.Job, f.all, &addresses[0], addresses[1:])
	r.copyIn()
	r.clear()
	r.Set(f.at, 0, int64(8*f.words))
	r.launch(f.fill, f.fill.Grid(r.Join.Build.Rows/int64(f.fill.Rows)+1), f.at, f.words)
	r.Do(func() error { return x.stream.Record(x.sender.first) })
	r.phase(columnar.PhaseFilter)
}

// MergeFilter brings the bits of all filters into a part of each of them: the one with
// this device's number, self.
func (x *Share) MergeFilter(all []*Share, self int) {
	r, k, f := x.run, x.sender.filters, &x.filter
	for _, other := range all {
		r.Do(func() error { return x.stream.Wait(other.sender.first) })
	}
	units, n := f.words/2, uint64(len(all))
	from, to := units*uint64(self)/n, units*uint64(self+1)/n
	r.Launch(k, k.Grid(int64(to-from)/int64(k.Rows)+1), f.all, n, from, to)
	r.Do(func() error { return x.stream.Record(x.sender.counted) })
	r.phase(columnar.PhaseFilter)
}

// StartReduce begins to drop the probe rows that the merged filter rejects.
func (x *Share) StartReduce(all []*Share) {
	r, f := x.run, &x.filter
	for _, other := range all {
		r.Do(func() error { return x.stream.Wait(other.sender.counted) })
	}
	r.launch(f.reduce, f.reduce.Grid(r.Join.Probe.Rows/int64(f.reduce.Rows)+1), f.at, f.words, uint64(f.left.Key.Addr), uint64(r.Join.Probe.Rows))
	r.Peek(r.d.Counters, counters)
	r.phase(columnar.PhaseReduction)
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
	f.left.Rows, r.bloom = rows, true
	r.Join.Probe = f.left
	r.d.Side[1].Rows, r.d.Side[1].Key = uint64(rows), uint64(f.left.Key.Addr)
	x.cutFlows()
	return rows, nil
}
