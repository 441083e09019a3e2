//go:build cuda

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/tests/columndata"
)

// Sequences are those of GFTR, section 5.2.7: facts with a foreign key to each of n
// tables, which have one payload column each. A join carries the facts' row ids and the
// payload found so far; each foreign key is gathered by row id right before its join.
const (
	sequenceFacts = 1 << 27
	sequenceTable = 1 << 25
)

// tables are a sequence's inputs.
type tables struct {
	rows  columnar.Column   // the facts' row numbers
	keys  []columnar.Column // the facts' foreign keys
	sides []columnar.Side   // the tables
}

// sequenceTables makes the inputs at the start of the arena.
func (b *bench) sequenceTables(ctx context.Context, n int) (t tables, err error) {
	b.arena.Rewind(0)
	take := func(rows int64) (c columnar.Column, err error) {
		at, err := b.arena.Take(rows*4 + driver.Line)
		return columnar.Column{Addr: at, Bytes: 4}, err
	}
	fill := func(side uint64, rows int64, number int, columns []columnar.Column) error {
		mark := b.arena.Mark()
		defer b.arena.Rewind(mark)
		table, err := b.arena.Take(columndata.TableBytes)
		if err != nil {
			return err
		}
		b.data.Describe(0, columns)
		if err := b.stream.CopyIn(table, b.data.Host.Bytes()[:columndata.TableBytes]); err != nil {
			return err
		}
		err = b.data.Fill.Launch(b.stream, columndata.Blocks, side, uint64(rows), uint64(table), uint64(len(columns)), sequenceTable, 0, uint64(number), 0)
		if err != nil {
			return err
		}
		return b.stream.Sync(ctx)
	}
	if t.rows, err = take(sequenceFacts); err != nil {
		return t, err
	}
	if err := b.data.Number.Launch(b.stream, columndata.Blocks, uint64(t.rows.Addr), sequenceFacts); err != nil {
		return t, err
	}
	for i := range n {
		key, err := take(sequenceFacts)
		if err != nil {
			return t, err
		}
		side := columnar.Side{Rows: sequenceTable, Payload: make([]columnar.Column, 1)}
		if side.Key, err = take(sequenceTable); err != nil {
			return t, err
		}
		if side.Payload[0], err = take(sequenceTable); err != nil {
			return t, err
		}
		if err := fill(1, sequenceFacts, i+1, []columnar.Column{key}); err != nil {
			return t, err
		}
		if err := fill(0, sequenceTable, i+1, []columnar.Column{side.Key, side.Payload[0]}); err != nil {
			return t, err
		}
		t.keys, t.sides = append(t.keys, key), append(t.sides, side)
	}
	return t, nil
}

// sequence times n joins with one algorithm and checks the last result. ms is the time
// between two events around all of them.
func (b *bench) sequence(ctx context.Context, n int, a algorithm) (r result, err error) {
	r = result{Case: fmt.Sprintf("sequence-%d", n), Algorithm: a.name, Chosen: a.chosen}
	t, err := b.sequenceTables(ctx, n)
	if err != nil {
		return r, err
	}
	bottom := b.arena.Mark()
	expected, err := b.expectSequence(ctx, n)
	if err != nil {
		return r, err
	}
	var events [2]*driver.Event
	for i := range events {
		if events[i], err = b.device.NewEvent(true); err != nil {
			return r, err
		}
		defer events[i].Close()
	}
	var ms, wall []float64
	for i := range b.repeats + 1 {
		b.arena.Rewind(bottom)
		start := time.Now()
		if err := b.stream.Record(events[0]); err != nil {
			return r, err
		}
		r.Launches, r.Syncs, r.Bytes, r.PeakBytes, r.Predicted, r.bound = 0, 0, 0, 0, 0, 0
		rows, columns, err := b.joinAll(ctx, t, a, &r)
		if err != nil {
			return r, err
		}
		if err := b.stream.Record(events[1]); err != nil {
			return r, err
		}
		if err := b.stream.Sync(ctx); err != nil {
			return r, err
		}
		if i > 0 {
			elapsed, err := events[1].Since(events[0])
			if err != nil {
				return r, err
			}
			ms, wall = append(ms, elapsed), append(wall, float64(time.Since(start))/float64(time.Millisecond))
		}
		if i == b.repeats {
			got, err := b.data.ChecksumOf(ctx, rows, columns)
			if err != nil {
				return r, err
			}
			if got != expected {
				r.wrong = fmt.Sprintf("WRONG: %d rows of %d, checksum %x of %x", got.Rows, expected.Rows, got.Sum, expected.Sum)
			}
		}
	}
	r.runs = slices.Clone(ms)
	slices.Sort(ms)
	slices.Sort(wall)
	r.MS, r.low, r.WallMS = ms[len(ms)/2], ms[0], wall[len(wall)/2]
	return r, nil
}

// joinAll runs the joins and returns the result: the facts' row ids, then each table's
// payload. Joins alternate between two halves of the arena, so that a join's memory is
// free once the next one has read its result.
func (b *bench) joinAll(ctx context.Context, t tables, a algorithm, r *result) (int64, []columnar.Column, error) {
	rows, found := int64(sequenceFacts), []columnar.Column{t.rows}
	var halves [2]*driver.Arena
	half := b.arena.Free()/2 - 1<<20 // leaves memory for the checksum
	for i := range halves {
		var err error
		if halves[i], err = b.arena.Part(half); err != nil {
			return 0, nil, err
		}
	}
	for i, side := range t.sides {
		key, arena := t.keys[i], halves[i%2]
		arena.Rewind(0)
		if i > 0 {
			at, err := arena.Take(rows * 4)
			if err != nil {
				return 0, nil, err
			}
			if err := b.data.Fetch.Launch(b.stream, columndata.Blocks, uint64(found[0].Addr), uint64(rows), uint64(key.Addr), uint64(at)); err != nil {
				return 0, nil, err
			}
			key.Addr = at
			r.Launches++
		}
		j := columnar.Join{Build: side, Probe: columnar.Side{Rows: rows, Key: key, Payload: found}, OutputRows: rows, NoKey: true}
		o, report, err := a.run(ctx, b.device, b.stream, arena, &j)
		if err != nil {
			return 0, nil, err
		}
		r.Launches, r.Syncs, r.Bytes = r.Launches+report.Launches, r.Syncs+report.Syncs, r.Bytes+report.Bytes
		// The bound applies to single joins: reports the one that comes nearest
		// to its own.
		if bound := peakBound(&j); r.bound == 0 || float64(report.PeakBytes)/float64(bound) > float64(r.PeakBytes)/float64(r.bound) {
			r.PeakBytes, r.bound = report.PeakBytes, bound
		}
		r.Predicted += b.predicted(&j, a, report) // without the foreign key's fetch
		rows, found = o.Rows, append(slices.Clone(o.Probe), o.Build...)
	}
	return rows, found, nil
}

// expectSequence computes the expected checksum of a sequence.
func (b *bench) expectSequence(ctx context.Context, n int) (columndata.Checksum, error) {
	mark := b.arena.Mark()
	defer b.arena.Rewind(mark)
	at, err := b.arena.Take(16)
	if err != nil {
		return columndata.Checksum{}, err
	}
	return b.data.Summed(ctx, at, func(at uint64) error {
		return b.data.ExpectSequence.Launch(b.stream, columndata.Blocks, sequenceFacts, uint64(n), sequenceTable, at)
	})
}
