//go:build cuda

package rowid

import (
	"context"
	"encoding/binary"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
	"gpujoin/joincore/program"
)

// JoinSpec describes a join.
type JoinSpec struct {
	device.Match
	Options
}

// Options are hints, and settings of tests; zero values let the device choose.
type Options struct {
	Bits int // radix bits
	// OneTable requests one table of all build rows instead of partitions; it is used
	// unless some key is too frequent.
	OneTable bool
	Region   int64  // maximum number of result rows handed out at once
	Seed     uint64 // of the hash of keys
	Collide  bool   // makes keys that are hashes collide
}

// Pairs are result rows as row numbers in the build and the probe space, uint32 each.
// Build is 0 if the rows have no build side, and Probe if they have no probe side.
type Pairs struct {
	Rows         int64
	Build, Probe driver.Ptr
}

// Join is a join whose build side is ready. It uses memory of the queue's arena from
// Prepare to Release.
type Join struct {
	q      *Queue
	spec   *JoinSpec
	radix  radix
	build  Side
	keys   *keyed     // of the build side
	table  driver.Ptr // of all build rows; 0: partitions are used
	marks  driver.Ptr
	mark   driver.Mark
	report Report
}

// Report describes an executed join.
type Report struct {
	Bits       int  // radix bits
	OneTable   bool // one table instead of partitions
	BuildRows  int64
	ProbeRows  int64
	ResultRows int64
	Work       joincore.DeviceWork
}

// Prepare partitions the build side. The caller does not change build until Release.
func (q *Queue) Prepare(ctx context.Context, spec *JoinSpec, build Side) (*Join, error) {
	if err := build.check(); err != nil {
		return nil, err
	}
	j := &Join{q: q, spec: spec, build: build, mark: q.arena.Mark(), report: Report{BuildRows: build.Rows}}
	defer j.account(q.cost)
	if err := j.prepare(ctx); err != nil {
		j.Release()
		return nil, err
	}
	return j, nil
}

func (j *Join) prepare(ctx context.Context) (err error) {
	q := j.q
	if j.spec.Mark {
		if j.marks, err = q.newMarks(j.build.Rows); err != nil {
			return err
		}
	}
	if j.spec.OneTable && j.build.Rows <= mostTableRows {
		if j.report.OneTable, err = j.prepareWhole(ctx); err != nil || j.report.OneTable {
			return err
		}
	}
	if j.radix, err = q.radix(j.spec.Build, j.build.Rows, j.spec.Bits); err != nil {
		return err
	}
	j.report.Bits = j.radix.first + j.radix.second
	return j.partitionBuild(ctx)
}

// Release rewinds the arena to where Prepare began.
func (j *Join) Release() { j.q.arena.Rewind(j.mark) }

// Report returns what the join has done so far.
func (j *Join) Report() Report { return j.report }

// account adds the queue's costs since then to the report.
func (j *Join) account(since joincore.DeviceWork) { j.report.Work.Add(j.q.WorkSince(since)) }

// partners returns the kernel that finds pairs.
func (j *Join) partners() string {
	name := "gj_partners"
	if j.table != 0 {
		name = "gj_whole_partners"
	}
	if j.conditional() {
		name += "_where"
	}
	return fmt.Sprintf("%s_k%d", name, j.radix.words)
}

// conditional says whether equal normalised keys do not suffice for a pair.
func (j *Join) conditional() bool {
	return j.spec.Residual != nil || !j.spec.Build.Exact && len(j.spec.Build.Parts) > 0
}

// conditions returns the program that a pair must satisfy in addition to equal
// normalised keys; 0: none. failed becomes 1 where it is out of range.
func (j *Join) conditions(ctx context.Context, probe *Side, failed driver.Ptr) (driver.Ptr, error) {
	if !j.conditional() {
		return 0, nil
	}
	var same []program.Same
	if !j.spec.Build.Exact {
		for i, p := range j.spec.Build.Parts {
			same = append(same, program.Same{Build: p.Column, Probe: j.spec.Match.Probe.Parts[i].Column, Bytes: p.Class != joincore.KeyInt})
		}
	}
	return j.q.condition(ctx, same, j.spec.Residual, j.spec.Parameters, probe, &j.build, failed)
}

// Probe joins the rows of a space and passes the result to emit in parts. A
// part is valid until emit returns. emit may use the queue, and its arena as a
// stack. If emit fails, Probe ends and returns its error.
func (j *Join) Probe(ctx context.Context, probe Side, emit func(Pairs) error) error {
	if err := probe.check(); err != nil {
		return err
	}
	q := j.q
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	j.report.ProbeRows += probe.Rows
	flags := flagsOf(&j.spec.Match)
	out := j.counting(emit)
	var marks driver.Ptr
	if flags&markProbe != 0 {
		var err error
		if marks, err = q.newMarks(probe.Rows); err != nil {
			return err
		}
	}
	if flags != 0 && probe.Rows > 0 && j.keys.rows > 0 {
		inner := q.arena.Mark()
		if err := j.match(ctx, probe, flags, marks, out); err != nil {
			return err
		}
		q.arena.Rewind(inner)
	}
	rest := func(found bool) error {
		return j.marked(ctx, marks, probe.Rows, found, func(rows int64, at driver.Ptr) error { return out(Pairs{Rows: rows, Probe: at}) })
	}
	switch j.spec.Emit {
	case device.Outer, device.Anti:
		return rest(false)
	case device.Semi:
		return rest(true)
	}
	return nil
}

// Leftover emits the build rows that have found a partner in any Probe, or those that
// have not. The join must have been prepared with Mark.
func (j *Join) Leftover(ctx context.Context, found bool, emit func(Pairs) error) error {
	mark := j.q.arena.Mark()
	defer j.q.arena.Rewind(mark)
	out := j.counting(emit)
	return j.marked(ctx, j.marks, j.build.Rows, found, func(rows int64, at driver.Ptr) error { return out(Pairs{Rows: rows, Build: at}) })
}

// counting adds the emitted rows to the report.
func (j *Join) counting(emit func(Pairs) error) func(Pairs) error {
	return func(p Pairs) error {
		j.report.ResultRows += p.Rows
		return emit(p)
	}
}

// newMarks takes one cleared bit per row.
func (q *Queue) newMarks(rows int64) (driver.Ptr, error) {
	bytes := (rows + 31) / 32 * 4
	at, err := q.arena.Take(bytes)
	if err != nil {
		return 0, err
	}
	return at, q.stream.Memset(at, 0, bytes)
}

// marked emits the numbers of the rows whose mark equals want, in order.
func (j *Join) marked(ctx context.Context, marks driver.Ptr, rows int64, want bool, emit func(rows int64, at driver.Ptr) error) error {
	q := j.q
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	window := min(regionRows(j.spec.Region, q.arena.Free()), rows)
	out, err := q.arena.Take(4 * window)
	if err != nil {
		return err
	}
	total, err := q.arena.Take(8)
	if err != nil {
		return err
	}
	inner := q.arena.Mark()
	for first := int64(0); first < rows; first += window {
		since := q.cost
		n := min(window, rows-first)
		if err := q.selectRows("gj_select_marked", n, out, total, uint64(marks), uint64(first), wordOf(want)); err != nil {
			return err
		}
		counted, err := q.read(ctx, total, 1)
		if err != nil {
			return err
		}
		found := int64(counted[0])
		q.arena.Rewind(inner)
		q.cost.Bytes += n/8 + 4*found
		j.account(since)
		if found == 0 {
			continue
		}
		if err := emit(found, out); err != nil {
			return err
		}
	}
	return nil
}

// match finds all pairs. It launches the match until no block is suspended; before each
// further launch it hands out the region.
func (j *Join) match(ctx context.Context, probe Side, flags uint64, marks driver.Ptr, emit func(Pairs) error) error {
	q := j.q
	since := q.cost
	kernel, err := q.kernels.module.Kernel(j.partners())
	if err != nil {
		return err
	}
	keys, err := q.newKeyed(ctx, probe, j.spec.Match.Probe, j.radix, &j.spec.Options)
	if err != nil {
		return err
	}
	rows, chunk := rangeRows(keys.rows, q.resident(kernel)), int64(kernel.Rows)
	if j.table != 0 {
		chunk = max(j.keys.rows, 1)
	}
	d, err := j.matchPlan(keys, chunk, rows)
	if err != nil {
		return err
	}
	join, err := q.arrange(ctx, &d)
	if err != nil {
		return err
	}
	if err := q.partition(join, probeSide, keys, j.radix); err != nil {
		return err
	}
	blocks := min(workItems(j.keys.rows, keys.rows, j.radix.partitions(), chunk, rows), int64(q.resident(kernel)))
	m := matchDescriptor{Join: uint64(join), Flags: flags, ProbeMarks: uint64(marks), BuildMarks: uint64(j.marks), Table: uint64(j.table)}
	progress, err := q.arena.Take(8 * progressWords)
	if err != nil {
		return err
	}
	m.Progress = uint64(progress)
	condition, err := j.conditions(ctx, &probe, progress+8*progressFailed)
	if err != nil {
		return err
	}
	m.Condition = uint64(condition)
	region, err := j.matchMemory(&m, blocks*int64(kernel.Shared))
	if err != nil {
		return err
	}
	if err := j.newFinished(&m, keys); err != nil {
		return err
	}
	at, err := q.upload(ctx, m)
	if err != nil {
		return err
	}
	q.cost.Bytes += (j.keys.rows + keys.rows) * int64(4*(j.radix.words+1))
	for resume := uint64(0); ; resume = 1 {
		if err := q.write(ctx, driver.Ptr(m.Progress), bytesOf(0, ^uint64(0), 0, 0)); err != nil {
			return err
		}
		if err := q.launch(kernel.Name, blocks, uint64(at), resume); err != nil {
			return err
		}
		progress, err := q.read(ctx, driver.Ptr(m.Progress), progressWords)
		if err != nil {
			return err
		}
		if progress[progressFailed] != 0 {
			return joincore.ErrArithmetic
		}
		region.Rows = int64(min(progress[progressClaimed], progress[progressLimit]))
		q.cost.Bytes += 8 * region.Rows
		j.account(since)
		if region.Rows > 0 {
			if err := emit(region); err != nil {
				return err
			}
		}
		since = q.cost
		if progress[progressSuspended] == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// matchPlan describes the partitions of both sides; the build side's exist already.
func (j *Join) matchPlan(probe *keyed, chunk, rangeRows int64) (partitionDescriptor, error) {
	build := *j.keys
	build.Count = 0
	// Planning writes the start of the build side's partitions again, and the
	// memory that only its passes needed.
	for _, to := range []*uint64{&build.Cursor, &build.Tail} {
		at, err := j.q.arena.Take(int64(4 * max(4, j.radix.partitions())))
		if err != nil {
			return partitionDescriptor{}, err
		}
		*to = uint64(at)
	}
	for _, to := range []*uint64{&build.ParentCount, &build.ParentStart, &build.ParentCursor, &build.ParentTail} {
		*to = build.Cursor
	}
	d := j.radix.descriptor(&build, probe)
	d.ChunkRows, d.RangeRows = uint64(chunk), uint64(rangeRows)
	var err error
	d.Counters, d.Extra, err = j.q.planMemory(j.radix)
	return d, err
}

// matchMemory takes the memory that a match writes: the region, and the saved state of
// blocks.
func (j *Join) matchMemory(m *matchDescriptor, saved int64) (Pairs, error) {
	arena := j.q.arena
	take := func(to *uint64, bytes int64, err error) error {
		if err != nil {
			return err
		}
		at, err := arena.Take(bytes)
		*to = uint64(at)
		return err
	}
	err := take(&m.Saved, saved, nil)
	if m.Flags&emitPairs != 0 && err == nil {
		rows := regionRows(j.spec.Region, arena.Free())
		err = take(&m.Build, 4*rows, err)
		err = take(&m.Probe, 4*rows, err)
		m.Capacity = uint64(rows)
	}
	return Pairs{Build: driver.Ptr(m.Build), Probe: driver.Ptr(m.Probe)}, err
}

// newFinished takes one bit for each partitioned row of the side whose ranges or chunks
// may be finished before all work items are.
func (j *Join) newFinished(m *matchDescriptor, probe *keyed) error {
	var rows uint64
	switch {
	case j.table != 0:
		return nil
	case m.Flags&firstOnly != 0:
		rows = probe.FinalCapacity
	case m.Flags == markBuild:
		rows = j.keys.FinalCapacity
	default:
		return nil
	}
	at, err := j.q.newMarks(int64(rows))
	m.Finished = uint64(at)
	return err
}

// bytesOf returns numbers in the device's representation.
func bytesOf(words ...uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}
