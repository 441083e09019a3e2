//go:build cuda

package cuda

import (
	"context"
	"slices"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// largestWindow is how many rows cross the link at a time at most: enough to
// fill the device, few enough that the first ones are read early. Of a probe
// side it is a quarter of the build side's rows, where that is more: tables of
// partitions are made anew for each window.
const largestWindow = 1 << 24

// columnsRead returns the columns of an input that a join reads on the device,
// and those that are gathered there from its result, in the order in which
// they are needed.
func (e *execution) columnsRead(input int, key *device.Key, residual joincore.Expr, keep device.Keep) []int {
	var refs []joincore.ColumnRef
	for _, p := range key.Parts {
		refs = append(refs, p.Column)
	}
	if residual != nil {
		refs = append(refs, joincore.ExprColumns(residual)...)
	}
	for _, ref := range keep.Columns {
		if movable(e.describe(ref)) {
			refs = append(refs, ref)
		}
	}
	var out []int
	for _, ref := range refs {
		if ref.Input == input && !slices.Contains(out, ref.Column) {
			out = append(out, ref.Column)
		}
	}
	return out
}

// base returns the view of a space that is nothing but an input.
func (s *space) base() (*view, bool) {
	for _, m := range s.members {
		return m.view, len(s.members) == 1 && len(s.carried) == 0 && m.positions == 0
	}
	return nil, false
}

// windows divides an input of which the columns are still on the host into
// views of neighbouring segments that probe so many build rows; nil where that
// is not worth it.
func (e *execution) windows(v *view, columns []int, build int64) []*view {
	if !v.whole() || !slices.ContainsFunc(columns, func(j int) bool { return !v.there(j) }) {
		return nil
	}
	target := min(max(largestWindow, build/4), e.workspace.arena.Free()/8/v.input.bytesPerRow(columns))
	if e.p.windowRows > 0 {
		target = e.p.windowRows
	}
	if v.rows <= 2*target {
		return nil
	}
	// Nothing is joined, nor goes back, before the first one has crossed.
	return e.cut(v, max(target/4, 1), target)
}

// cut divides an input into views of neighbouring segments, of `target` rows or
// somewhat more, the first one of `first`.
func (e *execution) cut(v *view, first, target int64) []*view {
	var out []*view
	low, rows := 0, first
	for high := 1; high <= v.high; high++ {
		if high == v.high || v.input.starts[high]-v.input.starts[low] >= rows {
			out = append(out, e.segmentsView(v.number, low, high))
			low, rows = high, target
		}
	}
	return out
}

// ringFor takes memory for views of an input that follow each other.
func (e *execution) ringFor(views []*view, columns []int) (*ring, error) {
	most := int64(0)
	for _, v := range views {
		most = max(most, v.bytes(columns))
	}
	r, err := e.newRing(most)
	if err != nil {
		return nil, err
	}
	for i, v := range views {
		v.half = &r.halves[i%2]
	}
	return r, nil
}

// stages executes work over stages one after the other, while what the next
// one needs is fetched.
func stages(ctx context.Context, n int, fetch func(ctx context.Context, i int), work func(i int) error) error {
	ctx, stop := context.WithCancel(ctx)
	var ahead sync.WaitGroup
	defer ahead.Wait()
	defer stop()
	start := func(i int) {
		if i == n {
			return
		}
		ahead.Go(func() {
			var unread error // what fails here fails again when it is needed
			defer device.Recover(&unread)
			device.PanicOnFault()
			fetch(ctx, i)
		})
	}
	start(0)
	for i := range n {
		ahead.Wait()
		start(i + 1)
		if err := work(i); err != nil {
			return err
		}
	}
	return nil
}
