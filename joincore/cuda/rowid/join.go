//go:build cuda

package rowid

import (
	"context"
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
