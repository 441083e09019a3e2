//go:build cuda

package npj

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/joincore/cuda/driver"
)

// Run joins without partitions. It takes 20 bytes a build row for the table,
// and down to 14 where its bound (columnar.Bound) or what is free says so: less
// it cannot do, so with more build rows than probe rows and little payload it
// may take more than its bound. A key that is frequent on both sides is joined
// slowly.
func Run(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	return join(ctx, d, s, a, j, nil)
}

// Within returns what Run is where the build keys are known to have that range:
// an array of dense keys takes no more memory than its words.
func Within(keys Range) columnar.Func {
	return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
		return join(ctx, d, s, a, j, &keys)
	}
}

func join(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join, keys *Range) (*columnar.Output, *columnar.Report, error) {
	return start(ctx, d, s, a, j, func(ctx context.Context, b *launch.Job) (*columnar.Output, error) {
		return (&run{Job: b, keys: keys}).run(ctx)
	})
}

func start(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join, f func(context.Context, *launch.Job) (*columnar.Output, error)) (*columnar.Output, *columnar.Report, error) {
	if j.Build.Rows > maxBuild {
		return nil, nil, fmt.Errorf("npj: a table of %d build rows", j.Build.Rows)
	}
	return launch.Run(ctx, d, s, a, j, "npj", f)
}

// run is one join on its way.
type run struct {
	*launch.Job
	keys    *Range // nil: it is looked for on the way
	table   tableDescriptor
	sources [2]launch.Source
	behind  driver.Mark // where the result may begin: behind the table
}

func (r *run) run(ctx context.Context) (*columnar.Output, error) {
	r.build()
	out := r.probe(r.Join.OutputRows)
	rows, err := r.read(ctx)
	if err == nil && rows > int64(r.table.Result.Capacity) {
		// Probed once more, into room for the rows that the first time has counted.
		out = r.probe(rows)
		rows, err = r.read(ctx)
	}
	if err != nil {
		return nil, err
	}
	return out.Result(rows), nil
}

// read waits for the number of the result's rows, and notes what the table was.
func (r *run) read(ctx context.Context) (int64, error) {
	var c counters
	err := r.readCounters(ctx, &c)
	if c.keys().within(2*r.table.Slots) && r.Sides[0].Rows > 0 {
		r.Report.Algorithm = "npj/array"
	}
	return int64(c.Results), err
}

// readCounters waits for what is queued and reads counters but the last one.
func (r *run) readCounters(ctx context.Context, c *counters) error {
	words := [4]uint64{}
	err := r.Read(ctx, r.table.Range, words[:])
	c.Low, c.NotHigh, c.Near, c.Results = words[0], words[1], words[2], words[3]
	return err
}

// build queues the making of the table.
func (r *run) build() {
	rows := r.Join.OutputRows
	rest := r.Sides[0].Rows*4 + rows*r.Join.RowBytes() + r.numbers(rows, true)
	r.table.Slots = uint64(slots(r.Sides[0].Rows, r.Room(rows)-rest))
	if array := r.array(); array > 0 {
		r.table.Slots = uint64(lines((array + slotBytes - 1) / slotBytes))
	}
	bytes := int64(r.table.Slots) * slotBytes
	r.table.Table = r.Take(bytes)
	r.Set(r.table.Table, 0xff, bytes)
	r.count()
	r.table.Next = r.Take(r.Sides[0].Rows * 4)
	for i, s := range r.Sides {
		r.table.Rows[i], r.table.Key[i] = uint64(s.Rows), uint64(s.Key.Addr)
		r.sources[i].Key = uint64(s.Key.Addr)
		// The build side's rows come in the probe side's order: several columns are
		// gathered one after the other, so that the caches serve one at a time.
		r.sources[i].Gather = i == 0 && len(s.Payload) > 1 && !r.Join.RowIDs
		for _, c := range s.Payload {
			r.sources[i].Payload = append(r.sources[i].Payload, uint64(c.Addr))
		}
	}
	r.behind = r.Mark()
	at := launch.Put(r.Job, &r.table)
	if r.keys == nil {
		r.overBuild("gj_table_range_k%d", at)
	}
	r.overBuild("gj_table_enter_k%d", at)
	r.Phase("build", r.traffic().build())
}

// array returns the size of the array that is built, as far as that is known; 0: none.
func (r *run) array() int64 {
	if r.keys == nil {
		return 0
	}
	return r.keys.ArrayBytes(r.Sides[0].Rows)
}

// overBuild launches a kernel that a thread runs for a build row or several.
func (r *run) overBuild(name string, descriptor uint64) {
	k := r.Kernel(name, r.Join.Build.Key.Bytes/4)
	r.Launch(k, r.Grid(k, (r.Sides[0].Rows+int64(k.Threads)-1)/int64(max(k.Threads, 1))), descriptor)
}

// count brings the words that kernels change to the device.
func (r *run) count() {
	c := counters{Low: math.MaxUint64, NotHigh: math.MaxUint64}
	if r.keys != nil {
		c.Low, c.NotHigh = r.keys.Low, ^r.keys.High
	}
	r.table.Range = launch.Put(r.Job, &c)
	r.table.Repeats = r.table.Range + uint64(unsafe.Offsetof(c.Repeats))
}

// traffic describes the join to the model of the bytes that it moves.
func (r *run) traffic() traffic {
	t := traffic{keyBytes: int64(r.Join.Build.Key.Bytes), table: int64(r.table.Slots) * slotBytes, looks: r.keys == nil, random: r.Random}
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

// probe queues the probing, into room for so many rows, and the gathers.
func (r *run) probe(rows int64) *launch.Output {
	r.Rewind(r.behind)
	counter := r.table.Range + uint64(unsafe.Offsetof(counters{}.Results))
	r.Set(counter, 0, 8)
	used := int64(r.table.Slots)*slotBytes + r.Sides[0].Rows*4 + rows*r.Join.RowBytes()
	out := r.TakeOutput(rows, counter, r.sources, used+r.numbers(rows, false) > r.Room(rows))
	r.table.Result = out.Match
	k := r.Kernel("gj_table_probe_k%d", r.Join.Build.Key.Bytes/4)
	r.Launch(k, r.Grid(k, (r.Sides[1].Rows+int64(k.Rows)-1)/int64(max(k.Rows, 1))), launch.Put(r.Job, &r.table))
	r.Phase("probe", r.Sides[1].Bytes()+r.traffic().probe(rows)+out.Bytes())
	r.GatherPayload(out)
	return out
}

// numbers returns the size of the row numbers that lie beside a result of so many rows.
func (r *run) numbers(rows int64, inPlace bool) int64 {
	if in := r.Sides[0].Payload; len(in) > 1 && !r.Join.RowIDs {
		return rows * launch.NumberBytes(launch.Widths(in), inPlace)
	}
	return 0
}
