package exec

import (
	"context"
	"time"

	"gpujoin/joincore/device"
)

// newPartitioned partitions the build side of a join, and later the probe side,
// by the radix of their hashed keys.
func newPartitioned(ctx context.Context, d device.Chunked, plan *Plan, build Side, bits int, c *Counter) (Transformed, error) {
	partition := func(ctx context.Context, s Side, keepNulls bool) (device.Partitions, error) {
		return d.Partition(ctx, s.Space, device.PartitionSpec{
			Key: s.Key, Bits: bits, Carry: s.Carry, RowIDs: s.RowIDs, KeepNulls: keepNulls,
		})
	}
	await := func(ctx context.Context, p device.Partitions) error {
		_, err := p.Bounds().Wait(ctx)
		return err
	}
	match := func(ctx context.Context, build, probe device.Partitions) (Matches, error) {
		j := &partitionJoin{plan: plan, build: build, probe: probe, chunk: d.ChunkRows(), counter: c}
		return j, j.divide(ctx, d.Streams())
	}
	return newTransformed(ctx, plan, build, c, order[device.Partitions]{partition, await, match})
}

// partitionJoin is the source of the matches of two partitioned relations
// (GFTR, section 4.3). A task joins one partition: it builds a table that stays
// in the core's cache and probes it with the probe side's partition. A large
// probe partition is split into several tasks. Each builds the table again,
// which is cheap compared with its probes.
type partitionJoin struct {
	plan         *Plan
	build, probe device.Partitions
	tasks        []partitionTask
	chunk        int
	counter      *Counter
}

// A task has a partition, or none for the probe rows without key.
type partitionTask struct {
	partition int
	first, n  int // probe rows
}

func (j *partitionJoin) Release() { j.probe.Release() }

// divide makes tasks of about equal size.
func (j *partitionJoin) divide(ctx context.Context, streams int) error {
	build, err := j.build.Bounds().Wait(ctx)
	if err != nil {
		return err
	}
	probe, err := j.probe.Bounds().Wait(ctx)
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

func (j *partitionJoin) divideRows(partition, from, to, most int) {
	for at := from; at < to; at += most {
		j.tasks = append(j.tasks, partitionTask{partition, at, min(most, to-at)})
	}
}

func (j *partitionJoin) Tasks() int { return len(j.tasks) }

func (j *partitionJoin) Open(st device.ChunkStream) func(context.Context, int, Push) error {
	prober := st.NewProber(&j.plan.Match)
	return func(ctx context.Context, task int, push Push) error {
		t := j.tasks[task]
		part := probePart{space: j.probe, first: t.first, n: t.n, chunk: j.chunk}
		if t.partition == withoutKey {
			return part.pass(ctx, st, j.counter, push)
		}
		start := time.Now()
		table, err := st.BuildPartition(ctx, j.build, t.partition, &j.plan.Match)
		if err != nil {
			return err
		}
		took := time.Since(start)
		j.counter.Build.Add(took)
		j.counter.Clock.Add(took)
		return part.probe(ctx, st, prober, table, j.counter, push)
	}
}
