package algo

import (
	"context"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Side is one side of a partitioned join.
type Side struct {
	Space  device.Space
	Key    *device.Key
	Carry  []joincore.ColumnRef // moved with the key: OM (GFTR); none: UM (GFUR)
	RowIDs []int                // inputs whose other columns are reached by row number
}

// PartitionJoin is the source of the matches of two partitioned relations
// (GFTR, section 4.3). A task joins one partition: it builds a table that
// stays in the core's cache and streams the probe side's partition through
// it. A large probe partition is divided into several tasks, which build
// the table again; that costs little beside what they probe.
type PartitionJoin struct {
	plan         *Plan
	build, probe device.Partitions
	tasks        []partitionTask
	chunk        int
	counter      *Counter
	// BuildTime and ProbeTime are what partitioning each side took.
	BuildTime, ProbeTime time.Duration
}

// A task has a partition, or none for the probe rows without key.
type partitionTask struct {
	partition int
	first, n  int // probe rows
}

const withoutKey = -1

// NewPartitionJoin partitions both sides by the same radix bits.
func NewPartitionJoin(ctx context.Context, d device.Chunked, plan *Plan, build, probe Side, bits int, c *Counter) (*PartitionJoin, error) {
	j := &PartitionJoin{plan: plan, chunk: d.ChunkRows(), counter: c}
	c.In.Store(rowsOf(probe.Space))
	partition := func(s Side, keepNulls bool, took *time.Duration) (device.Partitions, error) {
		start := time.Now()
		defer func() { *took = time.Since(start) }()
		return d.Partition(ctx, s.Space, device.PartitionSpec{
			Key: s.Key, Bits: bits, Carry: s.Carry, RowIDs: s.RowIDs, KeepNulls: keepNulls,
		})
	}
	var err error
	if j.build, err = partition(build, plan.keepsBuild(), &j.BuildTime); err != nil {
		return nil, err
	}
	if j.probe, err = partition(probe, plan.keepsProbe(), &j.ProbeTime); err != nil {
		j.build.Release()
		return nil, err
	}
	if err := j.divide(ctx, d.Streams()); err != nil {
		j.Release()
		return nil, err
	}
	return j, nil
}

func rowsOf(s device.Space) int64 {
	n := int64(0)
	for _, r := range s.Segments() {
		n += int64(r)
	}
	return n
}

// Build returns the partitioned build side.
func (j *PartitionJoin) Build() device.Space { return j.build }

// Release frees both sides.
func (j *PartitionJoin) Release() {
	j.build.Release()
	j.probe.Release()
}

// divide makes tasks of about equal size.
func (j *PartitionJoin) divide(ctx context.Context, streams int) error {
	build, err := j.build.Bounds(ctx)
	if err != nil {
		return err
	}
	probe, err := j.probe.Bounds(ctx)
	if err != nil {
		return err
	}
	last := len(probe) - 2
	share := int(probe[last+1]) / (streams * 8)
	needsPartner := j.plan.Match.Emit != device.Outer && j.plan.Match.Emit != device.Anti
	for p := range last {
		rows := int(build[p+1] - build[p])
		if rows == 0 && needsPartner {
			continue
		}
		j.divideRows(p, int(probe[p]), int(probe[p+1]), max(share, 4*rows, 4*j.chunk))
	}
	j.divideRows(withoutKey, int(probe[last]), int(probe[last+1]), max(share, 4*j.chunk))
	return nil
}

func (j *PartitionJoin) divideRows(partition, from, to, most int) {
	for at := from; at < to; at += most {
		j.tasks = append(j.tasks, partitionTask{partition, at, min(most, to-at)})
	}
}

func (j *PartitionJoin) Tasks() int { return len(j.tasks) }

func (j *PartitionJoin) Open(st device.ChunkStream) func(context.Context, int, Push) error {
	prober := st.NewProber(&j.plan.Match)
	return func(ctx context.Context, task int, push Push) error {
		t := j.tasks[task]
		var table device.Table
		if t.partition != withoutKey {
			var err error
			start := time.Now()
			if table, err = st.BuildPartition(j.build, t.partition, &j.plan.Match); err != nil {
				return err
			}
			took := time.Since(start)
			j.counter.Build.Add(took)
			j.counter.Clock.Add(took)
		}
		for at := 0; at < t.n; at += j.chunk {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n := min(j.chunk, t.n-at)
			r := st.Scan(j.probe, 0, t.first+at, n)
			if t.partition == withoutKey {
				j.counter.Out.Add(int64(n))
				if err := push(r, n); err != nil {
					return err
				}
				continue
			}
			if err := probe(ctx, prober, r, table, j.counter, push); err != nil {
				return err
			}
		}
		return nil
	}
}
