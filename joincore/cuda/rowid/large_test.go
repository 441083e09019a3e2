//go:build cuda

package rowid

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// keyOnly is a side of one key column without NULLs.
func keyOnly(input int, values driver.Ptr, width int, rows int64) Side {
	return Side{Rows: rows, Lookup: func(c joincore.ColumnRef) (Column, error) {
		if c.Input != input {
			return Column{Missing: true}, nil
		}
		return Column{Values: values, Width: width}, nil
	}}
}

func keySpec(width int, emit device.Emit) *JoinSpec {
	left, right := device.Keys([]joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
		func(joincore.ColumnRef) joincore.Column { return fixed(width) })
	return &JoinSpec{Match: device.Match{Build: left, Probe: right, Emit: emit}}
}

// constant makes n keys of one value.
func (r *rig) constant(n int64) driver.Ptr {
	p := r.alloc(4 * n)
	r.must(r.stream.Memset(p, 7, 4*n))
	return p
}

// With one key on both sides, every pair is returned once through a small region.
func TestOneHotKeyIsStreamed(t *testing.T) {
	r := newRig(t, 1<<30)
	build, probe, region := 5000, 4097, 1<<16
	if testing.Short() {
		build, probe, region = 500, 1025, 1<<12
	}
	spec := keySpec(4, device.Pairs)
	spec.Region = int64(region)
	j, err := r.Prepare(r.ctx, spec, keyOnly(0, r.constant(int64(build)), 4, int64(build)))
	r.must(err)
	seen := make([]bool, build*probe)
	pairs, parts := 0, 0
	r.must(j.Probe(r.ctx, keyOnly(1, r.constant(int64(probe)), 4, int64(probe)), func(p Pairs) error {
		b, s := get[uint32](r, p.Build, p.Rows), get[uint32](r, p.Probe, p.Rows)
		for i := range b {
			at := int(s[i])*build + int(b[i])
			if seen[at] {
				t.Fatalf("build row %d and probe row %d for the second time", b[i], s[i])
			}
			seen[at] = true
		}
		pairs += len(b)
		parts++
		return nil
	}))
	if pairs != build*probe || parts < pairs/region {
		t.Errorf("%d pairs in %d parts, want %d", pairs, parts, build*probe)
	}
	if got := j.Report(); got.ResultRows != int64(pairs) || got.ProbeRows != int64(probe) || got.Work.Syncs < parts {
		t.Errorf("report %+v", got)
	}
}

// A billion pairs through a small region.
func TestABillionPairs(t *testing.T) {
	r := newLongRig(t, 1<<30)
	const rows = 1 << 15
	spec := keySpec(4, device.Pairs)
	spec.Region = 1 << 23
	j, err := r.Prepare(r.ctx, spec, keyOnly(0, r.constant(rows), 4, rows))
	r.must(err)
	var pairs int64
	r.must(j.Probe(r.ctx, keyOnly(1, r.constant(rows), 4, rows), func(p Pairs) error {
		pairs += p.Rows
		last := get[uint32](r, p.Build+driver.Ptr(4*(p.Rows-1)), 1)
		if last[0] >= rows {
			t.Errorf("build row %d", last[0])
		}
		return nil
	}))
	if pairs != rows*rows {
		t.Errorf("%d pairs, want %d", pairs, rows*rows)
	}
}

// A key too frequent for one table makes the join use partitions.
func TestOneTableIsLeftForHotKeys(t *testing.T) {
	r := newRig(t, 1<<30)
	for _, build := range []int64{longestBucket, longestBucket + 1} {
		spec := keySpec(4, device.Semi)
		spec.OneTable = true
		j, err := r.Prepare(r.ctx, spec, keyOnly(0, r.constant(build), 4, build))
		r.must(err)
		if got := j.Report().OneTable; got != (build == longestBucket) {
			t.Errorf("%d rows of one key: one table %v", build, got)
		}
		var rows int64
		r.must(j.Probe(r.ctx, keyOnly(1, r.constant(1000), 4, 1000), func(p Pairs) error { rows += p.Rows; return nil }))
		if rows != 1000 {
			t.Errorf("%d rows", rows)
		}
		j.Release()
	}
}

// With marks only, the cost depends on the number of rows even if a key is hot.
func TestHotMarks(t *testing.T) {
	r := newLongRig(t, 2<<30)
	const rows = 20_000_000
	spec := keySpec(4, device.Nothing)
	spec.Mark = true
	j, err := r.Prepare(r.ctx, spec, keyOnly(0, r.constant(rows), 4, rows))
	r.must(err)
	r.must(j.Probe(r.ctx, keyOnly(1, r.constant(rows), 4, rows), func(Pairs) error { return errors.New("a row was emitted") }))
	var found int64
	r.must(j.Leftover(r.ctx, true, func(p Pairs) error { found += p.Rows; return nil }))
	if found != rows {
		t.Errorf("%d rows are marked, want %d", found, rows)
	}
	j.Release()
	for _, emit := range []device.Emit{device.Semi, device.Anti} {
		j, err := r.Prepare(r.ctx, keySpec(4, emit), keyOnly(0, r.constant(rows), 4, rows))
		r.must(err)
		var got int64
		r.must(j.Probe(r.ctx, keyOnly(1, r.constant(rows), 4, rows), func(p Pairs) error { got += p.Rows; return nil }))
		if want := map[device.Emit]int64{device.Semi: rows, device.Anti: 0}[emit]; got != want {
			t.Errorf("emit %d: %d rows, want %d", emit, got, want)
		}
		j.Release()
	}
}

// 2.2 G build rows: row numbers beyond 2^31 in every step.
func TestRowNumbersBeyond31Bits(t *testing.T) {
	r := newLongRig(t, 80<<30)
	const rows, probes = 2_200_000_000, 1_000_000
	bits := r.alloc((rows + 31) / 32 * 4)
	r.must(r.stream.Memset(bits, 0xff, (rows+31)/32*4))
	numbers, total := r.alloc(4*rows), r.alloc(8)
	mark := r.arena.Mark()
	r.must(r.selectRows("gj_select_marked", rows, numbers, total, uint64(bits), 0, 1))
	if got := get[uint64](r, total, 1); got[0] != rows {
		t.Fatalf("%d rows are marked, want %d", got[0], rows)
	}
	r.arena.Rewind(mark)
	wanted := make([]uint32, probes)
	for i := range wanted {
		wanted[i] = uint32(r.rand.Int64N(rows))
	}
	wanted[0], wanted[1] = rows-1, rows // the second is no row
	j, err := r.Prepare(r.ctx, keySpec(4, device.Pairs), keyOnly(0, numbers, 4, rows))
	r.must(err)
	found := 0
	r.must(j.Probe(r.ctx, keyOnly(1, put(r, wanted), 4, probes), func(p Pairs) error {
		out := r.alloc(4 * p.Rows)
		r.must(r.Compose(p.Build, numbers, p.Rows, out))
		build, probe, keys := get[uint32](r, p.Build, p.Rows), get[uint32](r, p.Probe, p.Rows), get[uint32](r, out, p.Rows)
		for i := range build {
			if build[i] != wanted[probe[i]] || keys[i] != build[i] {
				t.Fatalf("probe row %d with key %d found row %d with key %d", probe[i], wanted[probe[i]], build[i], keys[i])
			}
		}
		found += len(build)
		return nil
	}))
	if found != probes-1 {
		t.Errorf("%d of %d rows have found their own", found, probes-1)
	}
}

func TestErrorsEndAProbe(t *testing.T) {
	r := newRig(t, 1<<30)
	rows := int64(1 << 14)
	if testing.Short() {
		rows = 1 << 10
	}
	spec := keySpec(4, device.Pairs)
	spec.Region = 1 << 16
	build, probe := keyOnly(0, r.constant(rows), 4, rows), keyOnly(1, r.constant(rows), 4, rows)
	mark := r.arena.Mark()
	j, err := r.Prepare(r.ctx, spec, build)
	r.must(err)
	failed := errors.New("emit failed")
	if err := j.Probe(r.ctx, probe, func(Pairs) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	if err := j.Probe(ctx, probe, func(Pairs) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.must(r.Sync(r.ctx))
	j.Release()
	if r.arena.Mark() != mark {
		t.Error("the arena was not given back")
	}
	r.arena.Rewind(0)
	little, err := r.arena.Part(1 << 20)
	r.must(err)
	q, err := r.kernels.NewQueue(r.stream, little)
	r.must(err)
	if _, err := q.Prepare(r.ctx, spec, keyOnly(0, r.constant(1<<20), 4, 1<<20)); !errors.Is(err, joincore.ErrBudget) {
		t.Error(err)
	}
	r.must(q.Close())
}

// TestRates logs the times of steps; it fails only if a join is wrong.
func TestRates(t *testing.T) {
	r := newLongRig(t, 40<<30)
	const build, probe = 1 << 26, 1 << 27
	keys := make([]uint32, probe)
	for i := range keys {
		keys[i] = uint32(i%build) * 2654435761
	}
	b, s := put(r, keys[:build]), put(r, keys)
	start, end := r.event(), r.event()
	timed := func(name string, f func()) {
		f()
		r.must(r.stream.Record(start))
		f()
		r.must(r.stream.Record(end))
		r.must(r.Sync(r.ctx))
		ms, err := end.Since(start)
		r.must(err)
		t.Logf("%-45s %8.3f ms", name, ms)
	}
	for _, emit := range []device.Emit{device.Pairs, device.Outer, device.Semi} {
		spec := keySpec(4, emit)
		spec.Region = 1 << 28
		var j *Join
		timed("prepare", func() {
			if j != nil {
				j.Release()
			}
			var err error
			j, err = r.Prepare(r.ctx, spec, keyOnly(0, b, 4, build))
			r.must(err)
		})
		var rows int64
		timed([]string{"", "pairs", "outer", "semi"}[emit], func() {
			rows = 0
			r.must(j.Probe(r.ctx, keyOnly(1, s, 4, probe), func(p Pairs) error { rows += p.Rows; return nil }))
		})
		if rows != probe {
			t.Errorf("emit %d: %d rows, want %d", emit, rows, probe)
		}
		j.Release()
	}
	const few = 1 << 20
	for _, one := range []bool{false, true} {
		spec := keySpec(4, device.Pairs)
		spec.Region, spec.OneTable = 1<<28, one
		j, err := r.Prepare(r.ctx, spec, keyOnly(0, b, 4, few))
		r.must(err)
		if j.Report().OneTable != one {
			t.Errorf("report %+v", j.Report())
		}
		var rows int64
		timed(fmt.Sprintf("pairs, %d build rows, one table %v", few, one), func() {
			rows = 0
			r.must(j.Probe(r.ctx, keyOnly(1, s, 4, probe), func(p Pairs) error { rows += p.Rows; return nil }))
		})
		if rows != probe/build*few {
			t.Errorf("%d rows of few build rows, want %d", rows, probe/build*few)
		}
		j.Release()
	}
	out := r.alloc(16 * probe)
	valid := r.alloc(probe)
	for _, width := range []int{1, 4, 8, 16} {
		n := int64(probe / 4)
		timed("gather in order", func() { r.must(r.Gather(Column{Values: s, Width: width}, 0, n, out, valid)) })
	}
	condition := &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{}, Right: joincore.Int(0)}
	timed("filter", func() {
		mark := r.arena.Mark()
		_, err := r.Filter(r.ctx, keyOnly(0, s, 4, probe), condition, nil, out)
		r.must(err)
		r.arena.Rewind(mark)
	})
}

func (r *rig) event() *driver.Event {
	e, err := r.context.NewEvent(true)
	r.must(err)
	r.Cleanup(func() { r.must(e.Close()) })
	return e
}
