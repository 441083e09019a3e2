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

// Values of Options.Bloom.
const (
	bloomOn  = "on"
	bloomOff = "off"
)

// reducible reports whether a filter may reduce the probe side, so that its keys are
// not counted before that is decided.
func (r *run) reducible() bool {
	switch {
	case r.Join.RowIDs || r.options.Bloom == bloomOff:
		return false
	case r.options.Bloom == bloomOn:
		return true
	}
	return r.options.Materialise == "" && r.options.rates().FilterFits(r.Join.Build.Rows)
}

// withoutBloom returns the shape function without filters.
func withoutBloom(shape func(costmodel.Materialisation) (costmodel.Materialisation, [2]costmodel.Carried)) func(costmodel.Materialisation) (costmodel.Materialisation, [2]costmodel.Carried) {
	return func(m costmodel.Materialisation) (costmodel.Materialisation, [2]costmodel.Carried) {
		m.Bloom = false
		return shape(m)
	}
}

// filter is a Bloom filter of build keys.
type filter struct {
	enter, keep *driver.Kernel
	at, words   uint64
	left        columnar.Side // what it leaves of the probe side
}

// loadFilter loads the kernels of filters.
func (r *run) loadFilter(f *filter) (err error) {
	if f.enter, err = r.state.steps.Kernel(fmt.Sprintf("gj_filter_k%d", r.keyWords)); err != nil {
		return err
	}
	f.keep, err = r.state.steps.Kernel(fmt.Sprintf("gj_reduce_k%d", r.keyWords))
	return err
}

// takeFilter takes memory for a filter of the given bytes.
func (r *run) takeFilter(f *filter, bytes int64) { f.at, f.words = r.Take(bytes), uint64(bytes/8) }

// fillFilter enters the build keys.
func (r *run) fillFilter(f *filter) {
	r.Set(f.at, 0, int64(8*f.words))
	r.launch(f.enter, f.enter.Grid(r.Join.Build.Rows/int64(f.enter.Rows)+1), f.at, f.words)
	r.phase(columnar.PhaseFilter)
}

// startReduction begins to copy the probe rows that the filter passes, of which there is
// memory for most.
func (r *run) startReduction(f *filter, most int64) {
	r.launch(f.keep, f.keep.Grid(r.Join.Probe.Rows/int64(f.keep.Rows)+1), f.at, f.words, uint64(f.left.Key.Addr), uint64(most))
	r.Peek(r.d.Counters, counters)
	r.phase(columnar.PhaseReduction)
}

// replaceProbe makes the given number of rows of other columns the probe side.
func (r *run) replaceProbe(left columnar.Side, rows int64) {
	left.Rows = rows
	r.Join.Probe = left
	r.d.Side[1].Rows, r.d.Side[1].Key = uint64(rows), uint64(left.Key.Addr)
}

// reduce drops the probe rows that a Bloom filter of the build keys rejects: the
// remaining rows, in columns of their own, become the probe side. The probe side stays
// unchanged if memory is short or more rows remain than the sample promised.
func (r *run) reduce(ctx context.Context) error {
	var f filter
	if err := r.loadFilter(&f); err != nil {
		return err
	}
	bottom, most := r.Mark(), r.keptRows()
	giveUp := func() error {
		r.Rewind(bottom)
		r.bloom = false
		return nil
	}
	var behind driver.Mark
	err := r.Attempt(func() (err error) {
		f.left, err = r.takeReduced(most)
		behind = r.Mark()
		r.takeFilter(&f, costmodel.FilterBytes(r.Join.Build.Rows))
		return err
	})
	if errors.Is(err, joincore.ErrBudget) {
		return giveUp()
	}
	if err != nil {
		return err
	}
	r.copyIn()
	if r.counted == 0 {
		r.clear()
	}
	r.fillFilter(&f)
	r.Await(1)
	r.startReduction(&f, most)
	counted, err := r.Peeked(ctx)
	if err != nil {
		return err
	}
	rows := int64(counted[counterKept])
	if rows > most {
		return giveUp()
	}
	r.Rewind(behind)
	r.replaceProbe(f.left, rows)
	return nil
}

// keptRows is the capacity, in rows, of the reduced probe side: all rows
// without a sample.
func (r *run) keptRows() int64 {
	if r.sampled.rows == 0 {
		return r.Join.Probe.Rows
	}
	return r.volume().keptRows(float64(r.sampled.matched) / float64(r.sampled.rows))
}

// takeReduced takes columns for the reduced probe side and describes the copy of its
// payload.
func (r *run) takeReduced(rows int64) (left columnar.Side, err error) {
	column := func(like columnar.Column) columnar.Column {
		return columnar.Column{Addr: driver.Ptr(r.Take(rows * int64(like.Bytes))), Bytes: like.Bytes}
	}
	left.Key = column(r.Join.Probe.Key)
	r.fields = r.fields[:0]
	for _, from := range r.Join.Probe.Payload {
		to, width := column(from), uint64(from.Bytes)
		left.Payload = append(left.Payload, to)
		r.fields = append(r.fields, field{From: uint64(from.Addr), FromStride: width, To: uint64(to.Addr), ToStride: width, Bytes: width})
	}
	if len(r.fields) > maxFields {
		return left, fmt.Errorf("phj: %d payload columns are more than fit a join's descriptor", len(r.fields))
	}
	r.d.Side[1].Fields, r.d.Side[1].FieldCount = r.tables.join+joinBytes, uint64(len(r.fields))
	return left, r.Err()
}

// reductionTraffic models the bytes that a filter and the reduction read and write.
func (r *run) reductionTraffic() (filter, reduction int64) {
	build, probe := &r.Join.Build, &r.given
	filter = build.Rows*int64(build.Key.Bytes) + 2*costmodel.FilterBytes(build.Rows)
	reduction = probe.Rows*int64(probe.Key.Bytes) + r.Join.Probe.Bytes()
	share := float64(r.Join.Probe.Rows) / float64(max(probe.Rows, 1))
	for _, c := range probe.Payload {
		reduction += int64(costmodel.SectorBytes(float64(probe.Rows), share, c.Bytes))
	}
	return filter, reduction
}
