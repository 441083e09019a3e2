//go:build cuda

package columnar

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"gpujoin/joincore/cuda/driver"
)

// NPJ joins without partitions. The table takes 20 bytes per build row, or down to 14
// if the join's bound (columnar.Bound) or free memory require it. It cannot take
// less: with more build than probe rows and little payload, it may exceed the bound.
// A key that is frequent on both sides makes the join slow.
func NPJ(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (*Output, *Report, error) {
	return npj(nil)(ctx, d, s, a, j)
}

// NPJWithin returns NPJ for build keys whose range is known: an array of dense keys then
// takes only its words.
func NPJWithin(keys KeyRange) Func { return npj(&keys) }

func npj(keys *KeyRange) Func {
	return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (*Output, *Report, error) {
		return startNPJ(ctx, d, s, a, j, func(ctx context.Context, b *Job) (*Output, error) {
			return (&npjRun{Job: b, keys: keys}).run(ctx)
		})
	}
}

func startNPJ(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join, f func(context.Context, *Job) (*Output, error)) (*Output, *Report, error) {
	if j.Build.Rows > maxTableRows {
		return nil, nil, fmt.Errorf("npj: a table of %d build rows", j.Build.Rows)
	}
	if err := CheckPayload("npj", j); err != nil {
		return nil, nil, err
	}
	return Run(ctx, d, s, a, j, "npj", f)
}

// npjRun is one running join.
type npjRun struct {
	*Job
	keys    *KeyRange // nil: the join determines it
	table   tableDescriptor
	sources [2]Source
	behind  driver.Mark // where the result may begin: behind the table
}

func (r *npjRun) run(ctx context.Context) (*Output, error) {
	r.build()
	out := r.probe(r.Join.OutputRows)
	rows, err := r.read(ctx)
	if err == nil && rows > int64(r.table.Result.Capacity) {
		// The result was larger than expected: probes again, with space for the
		// counted rows.
		out = r.probe(rows)
		rows, err = r.read(ctx)
	}
	if err != nil {
		return nil, err
	}
	return out.Result(rows), nil
}

// read waits for the number of result rows, and records which table was used.
func (r *npjRun) read(ctx context.Context) (int64, error) {
	var c npjCounters
	err := r.readCounters(ctx, &c)
	if c.keys().within(2*r.table.Slots) && r.Sides[0].Rows > 0 {
		r.Report.Algorithm = "npj/array"
	}
	return int64(c.Results), err
}

// readCounters waits for all queued work and reads all counters but the last.
func (r *npjRun) readCounters(ctx context.Context, c *npjCounters) error {
	words := [4]uint64{}
	err := r.Read(ctx, r.table.Range, words[:])
	c.Low, c.NotHigh, c.Near, c.Results = words[0], words[1], words[2], words[3]
	return err
}

// build queues the construction of the table.
func (r *npjRun) build() {
	rows := r.Join.OutputRows
	rest := r.Sides[0].Rows*4 + rows*r.Join.RowBytes() + r.numbers(rows, true)
	r.table.Slots = uint64(tableSlots(r.Sides[0].Rows, r.Room(rows)-rest))
	if array := r.array(); array > 0 {
		r.table.Slots = uint64(wholeLines((array + slotBytes - 1) / slotBytes))
	}
	bytes := int64(r.table.Slots) * slotBytes
	r.table.Table = r.Take(bytes)
	r.Set(r.table.Table, 0xff, bytes)
	r.count()
	r.table.Next = r.Take(r.Sides[0].Rows * 4)
	for i, s := range r.Sides {
		r.table.Rows[i], r.table.Key[i] = uint64(s.Rows), uint64(s.Key.Addr)
		r.sources[i].Key = uint64(s.Key.Addr)
		// Build rows come in the probe side's order: several columns are gathered one
		// after the other, so that the caches serve one at a time.
		r.sources[i].Gather = i == 0 && len(s.Payload) > 1 && !r.Join.RowIDs
		for _, c := range s.Payload {
			r.sources[i].Payload = append(r.sources[i].Payload, uint64(c.Addr))
		}
	}
	r.behind = r.Mark()
	at := Put(r.Job, &r.table)
	if r.keys == nil {
		r.overBuild("gj_table_range_k%d", at)
	}
	r.overBuild("gj_table_enter_k%d", at)
	r.Phase(PhaseBuild, r.traffic().build())
}

// array returns the bytes of the array, as far as they are known; 0: a hash table.
func (r *npjRun) array() int64 {
	if r.keys == nil {
		return 0
	}
	return r.keys.ArrayBytes(r.Sides[0].Rows)
}

// overBuild launches a kernel in which a thread handles one or several build rows.
func (r *npjRun) overBuild(name string, descriptor uint64) {
	k := r.Kernel(name, r.Join.Build.Key.Bytes/4)
	r.Launch(k, r.Grid(k, (r.Sides[0].Rows+int64(k.Threads)-1)/int64(max(k.Threads, 1))), descriptor)
}

// count copies the initial counters to the device.
func (r *npjRun) count() {
	c := npjCounters{Low: math.MaxUint64, NotHigh: math.MaxUint64}
	if r.keys != nil {
		c.Low, c.NotHigh = r.keys.Low, ^r.keys.High
	}
	r.table.Range = Put(r.Job, &c)
	r.table.Repeats = r.table.Range + uint64(unsafe.Offsetof(c.Repeats))
}

// traffic describes the join for the model of memory traffic.
func (r *npjRun) traffic() npjTraffic {
	t := npjTraffic{keyBytes: int64(r.Join.Build.Key.Bytes), table: int64(r.table.Slots) * slotBytes, looks: r.keys == nil, random: r.Random}
	if t.array = r.array() > 0; t.array {
		t.near = r.keys.Near
	}
	for i, s := range r.Sides {
		t.rows[i] = s.Rows
	}
	if !r.sources[0].Gather && !r.Join.RowIDs {
		for _, c := range r.Sides[0].Payload {
			t.fetched = append(t.fetched, int64(c.Bytes))
		}
	}
	return t
}

// probe queues the probe, with space for the given number of result rows, and
// the gathers.
func (r *npjRun) probe(rows int64) *ResultMemory {
	r.Rewind(r.behind)
	counter := r.table.Range + uint64(unsafe.Offsetof(npjCounters{}.Results))
	r.Set(counter, 0, 8)
	used := int64(r.table.Slots)*slotBytes + r.Sides[0].Rows*4 + rows*r.Join.RowBytes()
	out := r.TakeOutput(rows, counter, r.sources, used+r.numbers(rows, false) > r.Room(rows))
	r.table.Result = out.Match
	k := r.Kernel("gj_table_probe_k%d", r.Join.Build.Key.Bytes/4)
	r.Launch(k, r.Grid(k, (r.Sides[1].Rows+int64(k.Rows)-1)/int64(max(k.Rows, 1))), Put(r.Job, &r.table))
	r.Phase(PhaseProbe, r.Sides[1].Bytes()+r.traffic().probe(rows)+out.Bytes())
	r.GatherPayload(out)
	return out
}

// numbers returns the bytes of row numbers outside a result of the given rows.
func (r *npjRun) numbers(rows int64, inPlace bool) int64 {
	if in := r.Sides[0].Payload; len(in) > 1 && !r.Join.RowIDs {
		return rows * NumberBytes(Widths(in), inPlace)
	}
	return 0
}

// npjCounters is the memory that kernels change: gj_table's range, the result's row count
// and repeats.
type npjCounters struct {
	Low, NotHigh, Near, Results, Repeats uint64
}

func (c *npjCounters) keys() KeyRange {
	return KeyRange{Low: c.Low, High: ^c.NotHigh, Near: int64(c.Near)}
}

// ReadKeyRange determines the range of the build keys by reading them all; it waits for the
// device once. The caller rewinds the memory that it takes from the arena. Errors are
// those of Run.
func ReadKeyRange(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (KeyRange, *Report, error) {
	var c npjCounters
	_, report, err := startNPJ(ctx, d, s, a, j, func(ctx context.Context, b *Job) (*Output, error) {
		r := npjRun{Job: b}
		r.table.Rows[0], r.table.Key[0] = uint64(j.Build.Rows), uint64(j.Build.Key.Addr)
		r.count()
		r.overBuild("gj_table_range_k%d", Put(b, &r.table))
		r.Phase(PhaseRange, j.Build.Rows*int64(j.Build.Key.Bytes))
		return nil, r.readCounters(ctx, &c)
	})
	return c.keys(), report, err
}
