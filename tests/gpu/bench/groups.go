//go:build cuda

package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/program"
	"gpujoin/tests/columndata"
)

// groupBench is an input in device memory.
type groupBench struct {
	*bench
	queue   *rowid.Queue
	columns []columnar.Column
	copied  float64 // GB/s that a copy reads and writes
}

// timeGroups times groupings.
func (b *bench) timeGroups(ctx context.Context, cases []grouping) (results []result, err error) {
	k, err := rowid.Load(b.device, kernels.General, kernels.Aggregate)
	if err != nil {
		return nil, err
	}
	if b.specialise {
		k.Specialise(rowid.Specialise{Text: kernels.Fixed, After: 1, Wait: true})
	}
	g := &groupBench{bench: b}
	if g.queue, err = k.NewQueue(b.stream, b.arena); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.queue.Close(), k.Close()) }()
	if g.copied, err = b.copyRate(ctx); err != nil {
		return nil, err
	}
	fmt.Printf("a copy reads and writes %.0f GB/s\n", g.copied)
	var total [2]uint64 // of the case before: rows and the lowest word of the sum
	rows := int64(0)    // of that case
	for _, c := range cases {
		r, got, err := g.time(ctx, c)
		if err != nil {
			return results, fmt.Errorf("%s: %w", c.name, err)
		}
		if !c.summed() {
			got[1] = total[1]
		}
		if c.unused && got[0] != uint64(c.rows) || !c.unused && c.rows == rows && got != total {
			r.wrong = fmt.Sprintf("WRONG: %d rows add up to %d, not %d to %d", got[0], got[1], total[0], total[1])
		}
		if !c.unused && c.summed() {
			total, rows = got, c.rows
		}
		r.print()
		results = append(results, r)
	}
	if n, took := k.Specialised(); n > 0 {
		fmt.Printf("%d kernels were compiled for single programs, in %d ms each\n", n, took.Milliseconds()/int64(n))
	}
	return results, nil
}

// copyRate measures the bandwidth of the memory.
func (b *bench) copyRate(ctx context.Context) (float64, error) {
	b.arena.Rewind(0)
	const bytes = 2 << 30
	from, err := b.arena.Take(2 * bytes)
	if err != nil {
		return 0, err
	}
	ms, err := b.timed(ctx, func() error { return b.stream.Copy(from+bytes, from, bytes) })
	return 2 * bytes / ms[len(ms)/2] / 1e6, err
}

// timed returns the times, in ms and sorted, of repeated runs between two events.
func (b *bench) timed(ctx context.Context, run func() error) (ms []float64, err error) {
	var events [2]*driver.Event
	for i := range events {
		if events[i], err = b.device.NewEvent(true); err != nil {
			return nil, err
		}
		defer events[i].Close()
	}
	for i := range b.repeats + 1 {
		if err := errors.Join(b.stream.Record(events[0]), run(), b.stream.Record(events[1]), b.stream.Sync(ctx)); err != nil {
			return nil, err
		}
		took, err := events[1].Since(events[0])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			ms = append(ms, took)
		}
	}
	slices.Sort(ms)
	return ms, nil
}

// fill makes the input. Columns but the key do not depend on the number of groups.
func (g *groupBench) fill(c grouping) error {
	g.arena.Rewind(0)
	g.columns = nil
	for _, w := range c.widths() {
		at, err := g.arena.Take(c.rows*int64(w) + driver.Line)
		if err != nil {
			return err
		}
		g.columns = append(g.columns, columnar.Column{Addr: at, Bytes: w})
	}
	table, err := g.arena.Take(columndata.TableBytes)
	if err != nil {
		return err
	}
	g.data.Describe(0, g.columns)
	if err := g.stream.CopyIn(table, g.data.Host.Bytes()[:columndata.TableBytes]); err != nil {
		return err
	}
	groups, zipf := uint64(max(c.groups, 1)), uint64(0)
	if c.zipf > 0 {
		zipf = math.Float64bits(c.zipf)
	}
	return g.data.Fill.Launch(g.stream, columndata.Blocks, 1, uint64(c.rows), uint64(table), uint64(len(g.columns)), groups, zipf, 0, groups)
}

func (g *groupBench) Alloc(bytes int64) (driver.Ptr, error) { return g.arena.Cut(bytes) }
func (g *groupBench) Free(driver.Ptr, int64)                {} // all at once, after each run

// time runs one case, and returns how many rows and what sum all groups have.
func (g *groupBench) time(ctx context.Context, c grouping) (result, [2]uint64, error) {
	r := result{Case: c.name, Algorithm: "aggregate"}
	if err := errors.Join(g.fill(c), g.stream.Sync(ctx)); err != nil {
		return r, [2]uint64{}, err
	}
	schema := joincore.Schema{{}}
	for _, w := range c.widths() {
		schema[0] = append(schema[0], joincore.Column{Kind: joincore.Fixed, Width: w, Align: w})
	}
	a := c.aggregate()
	rows := program.Rows{Where: func(joincore.ColumnRef) program.Where { return program.Probe }, Column: schema.Column}
	out, err := a.Columns(&joincore.Scope{Column: func(ref joincore.ColumnRef) (joincore.Column, error) { return schema.Column(ref), nil }, Derived: func(input int) bool { return input >= 1 }})
	if err != nil {
		return r, [2]uint64{}, err
	}
	plan, err := program.NewGroups(c.where(), a.Keys, a.Functions, out, rows)
	if err != nil {
		return r, [2]uint64{}, err
	}
	side := rowid.Side{Rows: c.rows, Lookup: func(ref joincore.ColumnRef) (rowid.Column, error) {
		col := rowid.Column{Values: g.columns[ref.Column].Addr, Width: g.columns[ref.Column].Bytes}
		if ref.Column == valueColumn && c.nulls {
			col.Validity = g.columns[validityColumn].Addr
		}
		return col, nil
	}}
	var got [2]uint64
	size, mark := g.arena.Size(), g.arena.Mark()
	once := func(check bool) error {
		groups, err := g.queue.NewGroups(ctx, &rowid.GroupsSpec{Groups: plan, Expected: c.groups}, g)
		if err != nil {
			return err
		}
		if err := groups.Add(ctx, side, nil); err != nil {
			return err
		}
		done, err := groups.Finish(ctx, &rowid.Owned{Memory: g})
		if err != nil {
			return err
		}
		if check {
			if got, err = g.sum(ctx, c, done); err != nil {
				return err
			}
		}
		r.PeakBytes = max(r.PeakBytes, size-g.arena.Size())
		g.arena.Extend(size - g.arena.Size())
		g.arena.Rewind(mark)
		if want := max(c.groups, 1); done.Rows > want || done.Rows < want && c.groups <= c.rows/64 && c.zipf == 0 {
			return fmt.Errorf("%d groups, want %d", done.Rows, want)
		}
		return nil
	}
	before := g.queue.Cost()
	start := time.Now()
	ms, err := g.timed(ctx, func() error { return once(false) })
	if err != nil {
		return r, got, err
	}
	runs := g.repeats + 1
	r.MS, r.low, r.WallMS = ms[len(ms)/2], ms[0], float64(time.Since(start).Microseconds())/1e3/float64(runs)
	r.runs = ms
	cost := g.queue.Cost()
	if err := once(true); err != nil {
		return r, got, err
	}
	r.Launches, r.Syncs = (cost.Launches-before.Launches)/runs, (cost.Syncs-before.Syncs)/runs
	r.Bytes = c.rows * c.rowBytes()
	r.bound = r.PeakBytes
	r.Fraction = float64(r.Bytes) / r.MS / 1e6 / g.copied
	return r, got, nil
}

// sum adds up the counts and, if they come next, the lowest words of the sums.
func (g *groupBench) sum(ctx context.Context, c grouping, rows *rowid.GroupRows) (got [2]uint64, err error) {
	host := g.data.Host.Bytes()
	for i, width := range []int64{8, 16} {
		if i > 0 && !c.summed() {
			break
		}
		from := rows.Columns[len(c.keys)+i].Values
		for at := int64(0); at < rows.Rows*width; at += int64(columndata.TableBytes) {
			n := min(int64(columndata.TableBytes), rows.Rows*width-at)
			if err := errors.Join(g.stream.CopyOut(host[:n], from+driver.Ptr(at)), g.stream.Sync(ctx)); err != nil {
				return got, err
			}
			for j := int64(0); j < n; j += width {
				got[i] += binary.LittleEndian.Uint64(host[j:])
			}
		}
	}
	return got, nil
}
