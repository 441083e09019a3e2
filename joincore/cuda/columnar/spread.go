//go:build cuda

package columnar

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// Algorithms of joins with a table that spans the memory of several devices, or of devices and the host.
const (
	SpreadName = "npj+spread"
	HybridName = "npj+hybrid"
)

// SpreadMember is a device that has a part of a build side.
type SpreadMember struct {
	Device *driver.Context
	Stream *driver.Stream
	Arena  *driver.Arena // that the devices of all members can access
	Build  Side
}

// SpreadTable is a hash table of the build rows of several devices, in the memory of all of
// them (Fast-IC, section 6.3). Each device joins rows of its own with it, when it likes: it
// reads slots and build rows where they are. So none of the members' arenas may be rewound to
// before BuildSpread, and no build column may change, until all devices have done that. The same holds for
// the memory of the host in which the rest of a hybrid table lies (section 5.3).
type SpreadTable struct {
	MS     float64 // that the slowest device took to enter rows
	Hosted float64 // the share of its slots that lies on the host

	members []SpreadMember
	shape   *spreadShape
	base    []uint64 // of each device's first unit
	host    []byte   // of the units on the host
	of      []spreadDescriptor
	repeats uint64 // not 0: build rows share a key, or a tag
	ms      []float64
	entered []spreadCounters
}

// spreadCounters is the memory that kernels change in addition to the table.
type spreadCounters struct {
	Repeats, Full, Results uint64
}

// BuildSpread makes a table of all members' build rows, in memory of their arenas and of the host. It
// returns when the devices' work has ended, also after an error. Payload must have as many columns
// of the same widths on all devices. ErrBudget: memory is too little, or, hardly ever, some
// slots are; ErrUnsupported: devices do not build such a table.
func BuildSpread(ctx context.Context, members []SpreadMember, where Placing) (*SpreadTable, error) {
	n := len(members)
	t := &SpreadTable{members: members, base: make([]uint64, n), of: make([]spreadDescriptor, n), ms: make([]float64, n), entered: make([]spreadCounters, n)}
	rows, free := make([]int64, n), make([]int64, n)
	for i, m := range members {
		if m.Device.HashSeed() != members[0].Device.HashSeed() || m.Build.Key.Bytes != members[0].Build.Key.Bytes {
			return nil, fmt.Errorf("npj: devices with different hash seeds or keys: %w", joincore.ErrUnsupported)
		}
		rows[i], free[i] = m.Build.Rows, m.Arena.Free()
	}
	var err error
	if t.shape, err = shapeSpread(rows, free, where); err != nil {
		return nil, err
	}
	if err := t.takeHost(where.Host); err != nil {
		return nil, err
	}
	if err := t.each(func(i int) error { return t.clear(ctx, i) }); err != nil {
		return nil, err
	}
	t.describe()
	if err := t.each(func(i int) error { return t.enter(ctx, i) }); err != nil {
		return nil, err
	}
	for i, c := range t.entered {
		if uint32(c.Full) != 0 {
			return nil, fmt.Errorf("npj: a part of the table on device %d has too few slots: %w", members[i].Device.Info().Ordinal, joincore.ErrBudget)
		}
		t.repeats |= uint64(uint32(c.Repeats))
		t.MS = max(t.MS, t.ms[i])
	}
	return t, nil
}

// Sides returns the build sides of all devices.
func (t *SpreadTable) Sides() (list []Side) {
	for _, m := range t.members {
		list = append(list, m.Build)
	}
	return list
}

// each calls a function for all members at once, and waits for all calls.
func (t *SpreadTable) each(f func(i int) error) error {
	errs := make([]error, len(t.members))
	var wait sync.WaitGroup
	for i := range t.members {
		wait.Go(func() { errs[i] = f(i) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// run runs a part of the construction on a device, which waits for the last word that it reads.
func (t *SpreadTable) run(ctx context.Context, i int, f func(context.Context, *Job) error) (*Report, error) {
	m := &t.members[i]
	_, report, err := RunEarly(ctx, m.Device, m.Stream, m.Arena, &Join{Build: m.Build, Probe: Side{Key: m.Build.Key}}, SpreadName,
		func(ctx context.Context, b *Job) (*Output, error) { return nil, f(ctx, b) })
	return report, err
}

// clear takes a device's part of the table. Other devices write links there, and read keys: they
// begin when this stream has done what was queued.
func (t *SpreadTable) clear(ctx context.Context, i int) error {
	_, err := t.run(ctx, i, func(ctx context.Context, b *Job) error {
		d, links, units := &t.of[i], linkBytes*b.Sides[0].Rows, int64(t.shape.on(i))*t.shape.unitBytes()
		d.Next[i], t.base[i] = b.Take(links), b.Take(units)
		b.Set(d.Next[i], 0xff, links)
		b.Set(t.base[i], 0xff, units)
		at := Put(b, &spreadCounters{})
		d.Table.Repeats, d.Full = at, at+uint64(unsafe.Offsetof(spreadCounters{}.Full))
		return b.Read(ctx, at, make([]uint64, 1))
	})
	return err
}

// describe completes what is the same on all devices.
func (t *SpreadTable) describe() {
	n := len(t.members)
	all := spreadDescriptor{Devices: uint64(n), RowBits: uint64(t.shape.rowBits), UnitBits: uint64(t.shape.unitBits)}
	all.Table.Slots = uint64(len(t.shape.place)) << t.shape.unitBits
	for i, m := range t.members {
		all.Rows[i], all.Key[i], all.Next[i] = uint64(m.Build.Rows), uint64(m.Build.Key.Addr), t.of[i].Next[i]
	}
	for i := range t.of {
		own := all
		own.Own, own.Table.Repeats, own.Full = uint64(i), t.of[i].Table.Repeats, t.of[i].Full
		t.of[i] = own
	}
}

// enter enters the rows whose slots a device has, or makes for the host. Payload may arrive meanwhile.
func (t *SpreadTable) enter(ctx context.Context, i int) error {
	arena, all := t.members[i].Arena, driver.Mark(0)
	report, err := t.run(ctx, i, func(ctx context.Context, b *Job) error {
		units := t.shape.addresses(t.base, addressOf(t.host))
		d := t.of[i]
		t.of[i].Unit = putUnits(b, units)
		all = arena.Mark()
		t.enterUnits(b, d, t.shape.only(units, i))
		if err := t.makeHosted(ctx, b, d, t.shape.hosted(i, len(t.members))); err != nil {
			return err
		}
		b.Await(0)
		words := [2]uint64{}
		err := b.Read(ctx, d.Table.Repeats, words[:])
		t.entered[i] = spreadCounters{Repeats: words[0], Full: words[1]}
		return err
	})
	if err != nil {
		return err
	}
	arena.Rewind(all)
	t.ms[i] = report.MS
	return nil
}

// enterUnits queues the entering of all rows whose slots are in units of a list, which has 0 for others.
func (t *SpreadTable) enterUnits(b *Job, d spreadDescriptor, units []uint64) {
	d.Unit = putUnits(b, units)
	most := int64(0)
	for _, m := range t.members {
		most = max(most, m.Build.Rows)
	}
	k := b.Kernel("gj_spread_enter_k%d", b.Join.Build.Key.Bytes/4)
	b.Launch(k, b.Grid(k, (most+int64(k.Threads)-1)/int64(max(k.Threads, 1))), Put(b, &d))
}

// putUnits copies a list of units to the device and returns its address.
func putUnits(b *Job, units []uint64) uint64 {
	at := b.Take(8 * int64(len(units)))
	b.PutAt(at, BytesOf(units))
	return at
}

// Algorithm returns the name of joins with the table.
func (t *SpreadTable) Algorithm() string {
	if t.Hosted > 0 {
		return HybridName
	}
	return SpreadName
}

// Reads says what a member reads in the memory of the others.
func (t *SpreadTable) Reads(member int) FarReads {
	rows := make([]int64, len(t.members))
	for i, m := range t.members {
		rows[i] = m.Build.Rows
	}
	build := &t.members[member].Build
	return t.shape.farReads(member, rows, build.Key.Bytes, Widths(build.Payload))
}

// Probe returns a Func that joins rows of a device with the table. The build side of the join
// is that device's part of the table's.
func (t *SpreadTable) Probe(member int) Func {
	return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (*Output, *Report, error) {
		if j.RowIDs {
			return nil, nil, fmt.Errorf("npj: row ids of several devices: %w", joincore.ErrUnsupported)
		}
		if err := CheckPayload(t.Algorithm(), j); err != nil {
			return nil, nil, err
		}
		return Run(ctx, d, s, a, j, t.Algorithm(), func(ctx context.Context, b *Job) (*Output, error) {
			b.ReadBack = PhaseProbe
			r := &spreadRun{Job: b, table: t, member: member, behind: b.Mark()}
			out := r.probe(j.OutputRows)
			rows, err := b.Rows(ctx, out.Match.Rows)
			if err == nil && rows > int64(out.Match.Capacity) {
				out = r.probe(rows) // the result was larger than expected
				rows, err = b.Rows(ctx, out.Match.Rows)
			}
			if err != nil {
				return nil, err
			}
			return out.Result(rows), nil
		})
	}
}

// spreadRun is one running probe.
type spreadRun struct {
	*Job
	table  *SpreadTable
	member int
	behind driver.Mark
}

// probe queues the probe, with space for the given number of result rows, and the gathers.
func (r *spreadRun) probe(rows int64) *ResultMemory {
	r.Rewind(r.behind)
	build, probe := r.Sides[0], r.Sides[1]
	d := r.table.of[r.member]
	d.Table.Repeats = Put(r.Job, &spreadCounters{Repeats: r.table.repeats})
	d.Table.Rows[1], d.Table.Key[1] = uint64(probe.Rows), uint64(probe.Key.Addr)
	// Build columns are gathered afterwards: the match writes the numbers of build rows.
	sources := [2]Source{{Gather: len(build.Payload) > 0}, {Key: d.Table.Key[1]}}
	for _, c := range probe.Payload {
		sources[1].Payload = append(sources[1].Payload, uint64(c.Addr))
	}
	apart := rows * (r.Join.RowBytes() + NumberBytes(Widths(build.Payload), false))
	out := r.TakeOutput(rows, d.Table.Repeats+uint64(unsafe.Offsetof(spreadCounters{}.Results)), sources, apart > r.Room(rows))
	d.Table.Result = out.Match
	k := r.Kernel("gj_spread_probe_k%d", build.Key.Bytes/4)
	r.Launch(k, r.Grid(k, (probe.Rows+int64(k.Rows)-1)/int64(max(k.Rows, 1))), Put(r.Job, &d))
	r.Phase(PhaseProbe, probe.Bytes()+probe.Rows*ReadAtRandom+out.Bytes())
	r.gather(out)
	return out
}

// gather queues the gathers of build columns, which lie on all devices.
func (r *spreadRun) gather(out *ResultMemory) {
	if out.Gather.Columns == 0 {
		return
	}
	bytes := int64(0)
	for c := range out.Gather.Columns {
		var part [MaxSpread]uint64
		for i, m := range r.table.members {
			part[i] = uint64(m.Build.Payload[out.Of[c].Column].Addr)
		}
		out.Gather.Column[c].From = Put(r.Job, &part)
		bytes += int64(out.Gather.Capacity) * (4 + int64(out.Gather.Column[c].Bytes) + ReadAtRandom)
	}
	k, at := r.Kernel("gj_spread_gather"), Put(r.Job, &out.Gather)
	for c := range out.Gather.Columns {
		r.Launch(k, k.Blocks*r.SMs, at, c, r.table.of[r.member].RowBits)
	}
	r.Phase(PhaseGather, bytes)
}
