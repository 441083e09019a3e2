package cpu

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"gpujoin/joincore/device"
)

// refusing is a condition that refuses every pair, and counts them. Its first
// pairs end the context, as a client that hangs up does.
type refusing struct {
	pairs int
	stop  func()
}

func (c *refusing) eval(_ *stream, r *rows, out *truths) error {
	out.set(isFalse)
	c.pairs += r.n
	c.stop()
	return nil
}

// TestRefusedPairsEndWithTheContext: one probe row has very many partners, and
// a condition refuses each. Once the context is done, no more than a chunk of
// them is looked at, in every algorithm and for all that probing may return.
func TestRefusedPairsEndWithTheContext(t *testing.T) {
	const chunk, partners = 64, 100_000
	type builder func(t *testing.T, d *dev, st *stream, s device.Space, m *device.Match) device.Table
	for name, build := range map[string]builder{
		"hash table": func(t *testing.T, d *dev, _ *stream, s device.Space, m *device.Match) device.Table {
			return tableOf(d.Build(t.Context(), s, m)).of(t)
		},
		"partition": func(t *testing.T, d *dev, st *stream, s device.Space, m *device.Match) device.Table {
			p, err := d.Partition(t.Context(), s, device.TransformSpec{Key: m.Build, Bits: 1})
			if err != nil {
				t.Fatal(err)
			}
			return tableOf(st.BuildPartition(t.Context(), p, largest(asSpace(p).bounds), m)).of(t)
		},
		"merge": func(t *testing.T, d *dev, st *stream, s device.Space, m *device.Match) device.Table {
			sorted, err := d.Sort(t.Context(), s, device.TransformSpec{Key: m.Build})
			if err != nil {
				t.Fatal(err)
			}
			return tableOf(st.MergeMatch(sorted, 0, m)).of(t)
		},
	} {
		for _, emit := range []device.Emit{device.Pairs, device.Outer, device.Semi, device.Anti, device.Nothing} {
			for _, far := range []int64{0, 1 << 40} { // an array of dense keys, or not
				d := openDev(t, 1, chunk)
				rows := []keyedRow{{key: far}}
				for i := range partners {
					rows = append(rows, keyedRow{key: 7, row: int32(i)})
				}
				importRows(t, d, 0, rows, len(rows))
				probe := importRows(t, d, 1, []keyedRow{{key: 7}}, 1)
				st := d.newStream()
				defer st.Close()
				m := &device.Match{Build: keyOf(0), Probe: keyOf(1), Emit: emit, Mark: emit == device.Nothing}
				ctx, cancel := context.WithCancel(t.Context())
				p := st.NewProber(m).(*prober)
				check := &refusing{stop: cancel}
				p.check, p.first = check, false
				table := build(t, d, st, d.inputs[0], m)
				if err := p.Start(ctx, st.Scan(probe, 0, 0, 1), table); err != nil {
					t.Fatal(err)
				}
				if _, _, err := p.Next(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("%s, emit %d: %v", name, emit, err)
				}
				if check.pairs == 0 || check.pairs > chunk {
					t.Errorf("%s, emit %d: %d pairs were looked at", name, emit, check.pairs)
				}
			}
		}
	}
}

// made is a table or why there is none.
type made struct {
	table device.Table
	err   error
}

func tableOf(table device.Table, err error) made { return made{table, err} }

func (m made) of(t *testing.T) device.Table {
	t.Helper()
	if m.err != nil {
		t.Fatal(m.err)
	}
	return m.table
}

// largest returns the partition with the most rows.
func largest(bounds []int64) (most int) {
	for i := range len(bounds) - 1 {
		if bounds[i+1]-bounds[i] > bounds[most+1]-bounds[most] {
			most = i
		}
	}
	return most
}

// countdown is a context that is done once it was looked at so often.
type countdown struct {
	context.Context
	left atomic.Int64
	done chan struct{}
}

func (c *countdown) Err() error {
	if left := c.left.Add(-1); left > 0 {
		return nil
	} else if left == 0 {
		close(c.done)
	}
	return context.Canceled
}

func (c *countdown) Done() <-chan struct{} { return c.done }

func (c *countdown) Value(any) any { return nil }

// TestLongStepsEndWithTheContext: work on many rows at once looks at the
// context as it goes, wherever in it the context ends.
func TestLongStepsEndWithTheContext(t *testing.T) {
	const n = 2*stepRows + 5
	keys := func(key func(i int) uint64) []uint64 {
		v := make([]uint64, n)
		for i := range v {
			v[i] = key(i)
		}
		return v
	}
	one := keys(func(int) uint64 { return 7 })
	distinct := keys(func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 })
	ascending := keys(func(i int) uint64 { return uint64(i) })
	d := openDev(t, 1, 0)
	partitioned := func(keys []uint64) *space {
		s := &space{dev: d, input: -1, shift: 32, rows: []int{n}, bounds: []int64{0, n, n}}
		s.ownKeys(keys)
		return s
	}
	m := &device.Match{Build: keyOf(0), Probe: keyOf(1), Emit: device.Pairs}
	for name, step := range map[string]func(ctx context.Context) error{
		"a partition of one key": func(ctx context.Context) error {
			_, err := d.newStream().BuildPartition(ctx, partitioned(one), 0, m)
			return err
		},
		"a partition of distinct keys": func(ctx context.Context) error {
			_, err := d.newStream().BuildPartition(ctx, partitioned(distinct), 0, m)
			return err
		},
		"build rows between two probe rows": func(ctx context.Context) error {
			t := &table{dev: d, sorted: ascending}
			return t.lookupSorted(ctx, []uint64{n + 1}, make([]uint32, 1))
		},
		"keys in order": func(ctx context.Context) error {
			s := &sorter{dev: d, keyed: n, buffers: [2]pairs{{ascending, make([]uint32, n)}, {}}}
			return s.finish(ctx, part{0, n, 0})
		},
		"runs moved together": func(ctx context.Context) error {
			s := &sorter{dev: d, buffers: [2]pairs{{slices.Clone(ascending), make([]uint32, n)}, {}}}
			return s.join(ctx, []run{{from: 0, to: 1}, {from: 1, to: n, keyed: n - 1}})
		},
	} {
		looks := &countdown{Context: t.Context(), done: make(chan struct{})}
		looks.left.Store(1 << 40)
		if err := step(looks); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		total := 1<<40 - looks.left.Load()
		if total < 3 {
			t.Errorf("%s: looks at the context %d times for %d rows", name, total, n)
		}
		for at := int64(1); at <= total; at++ {
			ends := &countdown{Context: t.Context(), done: make(chan struct{})}
			ends.left.Store(at)
			if step(ends) == nil {
				t.Errorf("%s: goes on though the context has ended", name)
			}
			if after := -ends.left.Load(); after > 2 {
				t.Errorf("%s: looks at the context %d times after its end", name, after)
			}
		}
	}
}
