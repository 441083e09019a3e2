//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// Cut describes a join that several devices execute together, each with a Share.
type Cut struct {
	Rows       [2]int64 // of the sides, on all devices
	OutputRows int64    // expected, of all devices
	Devices    int
	// Before has the rows of the sides on the devices before this one: row ids number the
	// rows of all devices, in the devices' order.
	Before [2]int64
	Ranges [2]Ranges // in which each side is sent; together at most MaxFlows
	// Sample has the first ranges of both sides counted before all others.
	Sample bool
	Way    Way
	// Sending is how many blocks send to other devices. Ranges that are counted after the
	// build side leave them multiprocessors.
	Sending int
	Spin    time.Duration // how long Finish does not leave the processor
}

// Way is how rows get to the devices that join them.
type Way int

const (
	// Store has first passes store rows into the memory of the devices that join them.
	Store Way = iota
	// Copy has first passes leave rows for another device in a block of their own device's
	// memory, which a copy engine brings there. Devices access each other's memory.
	Copy
	// Stage is Copy without access: the caller copies blocks and histograms.
	Stage
)

// String returns the way's name.
func (w Way) String() string { return [...]string{Store: "store", Copy: "copy", Stage: "stage"}[w] }

// flow is a range of rows of one side, which is sent by itself.
type flow struct {
	side       int
	from, rows int64
}

// Share is one device's share of a join that is cut in two: a first pass that sends rows
// to the devices that join them, and the rest of a partitioned hash join over the rows
// that this device has received. Its methods queue work, in this order:
//
//	TakeFilter, FillFilter, MergeFilter, StartReduce, Reduced if a filter is to drop probe
//	rows before they are counted; if filters are copied, the caller copies FilterPart after
//	WaitFilled and MergedPart after WaitMerged,
//	CountBuild, CountProbe, Sample,
//	SampleKeys and SampledKeys if there may be hot keys, and if these are to be joined where
//	they are, LookUp, LookedUp, TakeBypass, StartBypass,
//	BuildCounts, StoreInstead if memory is short, TakeBuild, AssignBuild, Send for flows of the build side,
//	CountCold after StartBypass,
//	Prepare of the build side, Await and Second for its flows,
//	ProbeCounts, TakeProbe, AssignProbe, Send for flows of the probe side,
//	Prepare of the probe side, Await and Second for its flows, Match, Finish
//
// AwaitAll before Prepare has no second pass begin before all rows have arrived.
//
// If memory is short, AssignBuild and what follows it, up to ProbeCounts but for CountCold,
// come after TakeProbe.
//
// If rows are copied, Copy follows each Send, with Blocks of the flow for all other devices. If
// they are staged, the caller copies Blocks and Counts of each device to others: the
// counts before Prepare, the blocks of a flow after WaitSent and before Second.
//
// Those that take a context wait. Flows of the build side come before those of the probe
// side; devices that join together have the same number of each.
type Share struct {
	run    *run
	cut    Cut
	self   int // the number of this device
	sender *Sender
	stream *driver.Stream
	arena  *driver.Arena
	sends  [2]*driver.Kernel
	flows  []flow
	builds int    // flows of the build side
	keeps  []bool // by flow: an ordinary first pass moves its rows

	source  []joinDescriptor // by flow: what is counted and sent
	sources uint64           // their addresses
	merged  [2]uint64        // histograms of what is received
	local   [2]uint64        // of what is sent
	copies  [2]uint64        // of what the devices send, in their order, if rows are staged
	filter  jointFilter      // of build keys, until the probe side is reduced
	hot     hotRows
	tables  joint
	// By flow, if rows may be compressed.
	compressed []compressedFlow
	// behindBuffers is where the memory behind the probe side's buffer begins, in which the result lies.
	behindBuffers driver.Mark
}

// joint are the addresses of the tables that follow from the assignment.
type joint struct {
	side  [2]uint64 // all that follows, of a side
	sends [2]uint64 // by flow of the side: gj_send
	joins [2]uint64 // by flow: the descriptors of its second passes
	keeps [2]uint64 // by flow: that of an ordinary first pass
	from  [2]uint64
	count [2]uint64
}

// Together calls f with this device's share of a join, whose sides j has a part of. Errors
// are those of columnar.Func, and joincore.ErrUnsupported if payload can neither be
// carried nor packed, or row ids do not fit 4 bytes. After an error of f no stream that
// works for the join may be busy.
func Together(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join, x *Sender, c Cut,
	f func(*Share) (*columnar.Output, error)) (*columnar.Output, *columnar.Report, error) {
	return columnar.Run(ctx, d, s, a, j, "phj", func(ctx context.Context, b *columnar.Job) (*columnar.Output, error) {
		r, err := newRun(d, b, Options{Materialise: "om", Bloom: bloomOff})
		if err != nil {
			return nil, err
		}
		r.shared, b.Spin = true, c.Spin
		share := &Share{run: r, cut: c, sender: x, stream: s, arena: a}
		if err := share.plan(); err != nil {
			return nil, err
		}
		return f(share)
	})
}

// plan chooses the kernels and bits, which are the same on all devices, and takes what
// does not depend on the assignment.
func (x *Share) plan() error {
	r := x.run
	if x.cut.Devices < 1 || x.cut.Devices > MaxDevices {
		return fmt.Errorf("phj: a join over %d devices: %w", x.cut.Devices, joincore.ErrUnsupported)
	}
	if all := max(x.cut.Rows[0], x.cut.Rows[1]); r.Join.RowIDs && all >= kernels.MaxRows {
		return fmt.Errorf("phj: %d rows are more than row ids can address: %w", all, joincore.ErrUnsupported)
	}
	// The plan is that of a device with an even part of the rows.
	own := [2]int64{r.Join.Build.Rows, r.Join.Probe.Rows}
	n := int64(x.cut.Devices)
	r.Join.Build.Rows, r.Join.Probe.Rows = (x.cut.Rows[0]+n-1)/n, (x.cut.Rows[1]+n-1)/n
	r.Join.OutputRows = (x.cut.OutputRows + n - 1) / n
	if err := r.plan(); err != nil {
		return err
	}
	r.Join.Build.Rows, r.Join.Probe.Rows = own[0], own[1]
	for i, s := range r.shapes {
		if r.modes[i] == rowID && !r.Join.RowIDs {
			return fmt.Errorf("phj: payload of %d bytes cannot be sent: %w", packedBytes(r.widths[i]), joincore.ErrUnsupported)
		}
		var err error
		if x.sends[i], err = r.state.forms.Kernel(fmt.Sprintf("gj_send_k%d_%s", r.keyWords, s)); err != nil {
			return err
		}
	}
	_, mostSecond := r.fans()
	mostFirst := log2(min(x.sends[0].Fan&0xffff, x.sends[1].Fan&0xffff))
	first, second := jointBits(x.cut.Rows[0], r.kernels.match.Rows, r.mostBits(), mostFirst, mostSecond, x.cut.Devices)
	r.bits = first + second
	if err := r.takeTables(); err != nil {
		return err
	}
	r.d.BitsFirst, r.d.BitsSecond = uint64(first), uint64(second)
	r.d.ChunkRows, r.d.RangeRows = uint64(r.kernels.match.Rows), 8*uint64(r.kernels.match.Rows)
	x.cutFlows()
	return x.takeCounts()
}

// cutFlows divides the rows of both sides.
func (x *Share) cutFlows() {
	x.flows = x.flows[:0]
	x.cutSide(0)
	x.builds = len(x.flows)
	x.cutSide(1)
}

// cutSide divides the rows of a side, behind the flows of the other one if it is the probe
// side.
func (x *Share) cutSide(side int) {
	x.flows = x.flows[:side*x.builds]
	from := int64(0)
	for _, end := range x.cut.Ranges[side].Ends(x.run.Sides[side].Rows) {
		x.flows = append(x.flows, flow{side, from, end - from})
		from = end
	}
}

// takeCounts takes what is needed to count rows.
func (x *Share) takeCounts() error {
	r := x.run
	if len(x.flows) > MaxFlows {
		return fmt.Errorf("phj: sides in %d ranges", len(x.flows))
	}
	x.sources = r.Take(int64(len(x.flows)) * (joinBytes + 2*maxCarried*fieldBytes + x.packedBytes()))
	for i := range x.merged {
		x.local[i], x.merged[i] = r.d.Side[i].Count, r.Take(4<<r.bits)
		if x.cut.Way == Stage {
			x.copies[i] = r.Take(int64(x.cut.Devices) * (4 << r.bits))
		}
		flows := uint64(x.flowsOf(i))
		t := &x.tables
		t.side[i] = r.Take(int64(flows*uint64(sendBytes+(x.secondPasses()+1)*joinBytes+x.keptBytes(i))) + 4*int64(x.tableWords(i)))
		x.placeTables(i)
	}
	return r.Err()
}

// placeTables gives a side's tables their places.
func (x *Share) placeTables(side int) {
	t, flows := &x.tables, uint64(x.flowsOf(side))
	t.sends[side] = t.side[side]
	t.joins[side] = t.sends[side] + flows*sendBytes
	t.keeps[side] = t.joins[side] + flows*uint64(x.secondPasses())*joinBytes
}

// StoreInstead has first passes store rows that they would leave in blocks, before TakeBuild:
// there is too little memory for blocks. All devices do it.
func (x *Share) StoreInstead() {
	x.cut.Way = Store
	for side := range x.tables.side {
		x.placeTables(side)
	}
}

// Builds returns the number of flows of the build side.
func (x *Share) Builds() int { return x.builds }

// flowsOf returns the number of flows of a side.
func (x *Share) flowsOf(side int) int {
	if side == 0 {
		return x.builds
	}
	return len(x.flows) - x.builds
}

// Flows returns the number of flows of both sides.
func (x *Share) Flows() int { return len(x.flows) }

// Partitions returns the number of partitions of the first pass.
func (x *Share) Partitions() int { return 1 << x.run.d.BitsFirst }

// Unit returns the rows of a unit of a side's first pass.
func (x *Share) Unit(side int) int64 { return int64(x.sends[side].Fan >> 16) }

// RowBytes returns the bytes of a side's row between the passes, with packed payload.
func (x *Share) RowBytes(side int) int64 {
	return int64(4 * (x.run.keyWords + x.run.shapes[side].words))
}

// bufferBytes is the part of them that is in the row buffer.
func (x *Share) bufferBytes(side int) int64 {
	if x.run.modes[side] == pack {
		return int64(4 * x.run.keyWords)
	}
	return x.RowBytes(side)
}

// Layout is what devices have to agree upon to exchange rows: it depends on the kernels'
// tuning for a device.
type Layout struct {
	First, Second uint64 // hash bits of the passes
	Units         [2]int64
	RowBytes      [2]int64
}

// Layout returns the layout of the share's rows.
func (x *Share) Layout() Layout {
	return Layout{x.run.d.BitsFirst, x.run.d.BitsSecond, [2]int64{x.Unit(0), x.Unit(1)}, [2]int64{x.RowBytes(0), x.RowBytes(1)}}
}

// Fits reports whether there is memory for rows that are received of each side, for those in
// blocks, for those in compressed form, and for the result rows, even if no memory is used twice, and whether a buffer may
// have that many rows.
func (x *Share) Fits(rows, blocks, compressed [2]int64, outputRows int64) bool {
	need := int64(0)
	for i, n := range blocks {
		if rows[i]+n >= kernels.MaxRows {
			return false
		}
		need += n*x.RowBytes(i) + x.compressedRoom(i, compressed[i])
	}
	return x.fits(rows, outputRows, need)
}

// fits is Fits with more bytes in place of blocks.
func (x *Share) fits(rows [2]int64, outputRows, need int64) bool {
	for i, n := range rows {
		need += n * x.HeldBytes(i)
	}
	return need <= x.Room(outputRows)
}

// HeldBytes returns the bytes of memory that a row of a side takes on the device that joins it:
// between the passes and after them.
func (x *Share) HeldBytes(side int) int64 { return 4*int64(x.run.finalWords(side)) + x.RowBytes(side) }

// Room returns how many bytes are left for rows that are received when a result of the given rows is
// set aside, even if no memory is used twice.
func (x *Share) Room(outputRows int64) int64 {
	r := x.run
	const lines = 1 << 20 // to which columns are rounded
	need := int64(lines)
	for i := range r.Sides {
		need += 8<<r.bits*4*int64(r.finalWords(i)) + int64(len(x.flows)*firstAlign)<<r.d.BitsFirst*x.RowBytes(i)
	}
	blocks := r.kernels.match.Grid(maxTails)
	need += (outputRows + int64(blocks+1)*outputChunk(outputRows, blocks)) * (r.Join.RowBytes() + 2*positionBytes)
	return x.arena.Free() - need
}

// TakeBuild takes the memory for the build rows that this device receives, in a buffer of
// the given capacity. ErrBudget where there is too little.
func (x *Share) TakeBuild(rows, capacity int64) error {
	if err := x.receive(0, rows, capacity); err != nil {
		return err
	}
	x.run.takeFinal(0, rows)
	x.takeStripes(0, capacity)
	x.takeBuffer(0, capacity)
	s := &x.run.d.Side[0]
	x.run.tables.spare = spare{s.First, int64(s.FirstCapacity) * x.bufferBytes(0)}
	return x.run.Err()
}

// TakeProbe does the same for the probe side, and for a result unless TakeBypass has.
func (x *Share) TakeProbe(rows, capacity, outputRows int64) error {
	if err := x.receive(1, rows, capacity); err != nil {
		return err
	}
	r := x.run
	r.takeFinal(1, rows)
	x.takeStripes(1, capacity)
	behind := r.Mark()
	x.takeBuffer(1, capacity)
	x.behindBuffers = r.Mark()
	if r.Err() != nil || r.bypass != nil { // which has a result
		return r.Err()
	}
	r.Join.OutputRows, r.tables.outputFrom = outputRows, behind
	return r.takeOutput(outputRows)
}

// receive replaces the rows that this device has of a side by those that it receives.
func (x *Share) receive(side int, rows, capacity int64) error {
	if rows >= kernels.MaxRows || capacity >= kernels.MaxRows {
		return fmt.Errorf("phj: %d rows are more than one device joins: %w", rows, joincore.ErrUnsupported)
	}
	r := x.run
	r.Sides[side].Rows = rows
	r.d.Side[side].Rows, r.d.Side[side].Count = uint64(rows), x.merged[side]
	return nil
}

// takeBuffer takes a side's buffer for what is received, and for blocks for others unless rows
// are stored.
func (x *Share) takeBuffer(side int, capacity int64) {
	s := &x.run.d.Side[side]
	s.FirstCapacity = roundUp(capacity, 64)
	s.First = x.run.Take(int64(s.FirstCapacity) * x.bufferBytes(side))
}

// Sender is what a device needs for joins with other devices, in addition to what a join
// of its own needs. One join at a time uses it.
type Sender struct {
	stream      *driver.Stream
	copier      *driver.Stream // of blocks
	own         *driver.Stream // second passes over rows that stay, if others are copied
	packer      *driver.Stream // of compression
	module      *driver.Module
	fold, merge *driver.Kernel
	filters     *driver.Kernel // merges them
	hot         [2]hotKernels  // by words of a key - 1
	compress    [2]*driver.Kernel
	expand      [2]*driver.Kernel
	sizes       *driver.Host  // units of compressed rows, by flow and device
	host        *driver.Host  // counts of rows, by flow and partition
	hotHost     *driver.Host  // hot keys, then a sample's keys
	sampled     *driver.Event // counts of the first range of both sides are there
	first       *driver.Event // those of the build side
	counted     *driver.Event
	looked      *driver.Event // a sample or hot keys were read
	start       *driver.Event
	passed      []*driver.Event // by flow: the first pass has ended
	sent        []*driver.Event // by flow: rows are where they are joined, or staged
	packed      []*driver.Event // by flow: rows are compressed
}

// hotKernels sample keys, copy hot build rows, and copy the probe rows that are not hot.
type hotKernels struct{ sample, rows, cold *driver.Kernel }

// NewSender creates a sender. Close frees it.
func NewSender(d *driver.Context) (_ *Sender, err error) {
	x := &Sender{}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Close())
		}
	}()
	if x.module, err = d.Load(kernels.Send); err != nil {
		return nil, err
	}
	layout, err := x.module.Constants("gj_send_layout")
	if err != nil {
		return nil, err
	}
	if want := []uint64{sendBytes, MaxDevices}; !slices.Equal(layout, want) {
		return nil, fmt.Errorf("the kernels' tables of receivers have the layout %v in place of %v", layout, want)
	}
	if x.fold, err = x.module.Kernel("gj_fold_counts"); err != nil {
		return nil, err
	}
	if x.merge, err = x.module.Kernel("gj_merge_counts"); err != nil {
		return nil, err
	}
	if x.filters, err = x.module.Kernel("gj_merge_filters"); err != nil {
		return nil, err
	}
	for i := range x.hot {
		h := &x.hot[i]
		for name, kernel := range map[string]**driver.Kernel{"gj_sample_keys": &h.sample, "gj_hot_rows": &h.rows, "gj_keep_cold": &h.cold} {
			if *kernel, err = x.module.Kernel(fmt.Sprintf("%s_k%d", name, i+1)); err != nil {
				return nil, err
			}
		}
	}
	if err = x.loadCompression(); err != nil {
		return nil, err
	}
	for _, s := range []**driver.Stream{&x.stream, &x.copier, &x.own, &x.packer} {
		if *s, err = d.NewStream(); err != nil {
			return nil, err
		}
	}
	if x.host, err = d.Pinned(MaxFlows * mostParents * 4); err != nil {
		return nil, err
	}
	if x.hotHost, err = d.Pinned(hotBytes + sampleKeyBytes); err != nil {
		return nil, err
	}
	if x.sizes, err = d.Pinned(4 * MaxFlows * MaxDevices); err != nil {
		return nil, err
	}
	for _, e := range []**driver.Event{&x.first, &x.sampled, &x.counted, &x.looked} {
		if *e, err = d.NewEvent(false); err != nil {
			return nil, err
		}
	}
	if x.start, err = d.NewEvent(true); err != nil {
		return nil, err
	}
	for range MaxFlows {
		for _, list := range []*[]*driver.Event{&x.passed, &x.sent, &x.packed} {
			e, err := d.NewEvent(list == &x.sent)
			if err != nil {
				return nil, err
			}
			*list = append(*list, e)
		}
	}
	return x, nil
}

// mostParents is the most partitions of a first pass.
const mostParents = 256

// Sync waits for all work of the sender.
func (x *Sender) Sync(ctx context.Context) error {
	return errors.Join(x.stream.Sync(ctx), x.copier.Sync(ctx), x.own.Sync(ctx), x.packer.Sync(ctx))
}

// Close frees the sender, after its work.
func (x *Sender) Close() error {
	errs := []error{x.stream.Close(), x.copier.Close(), x.own.Close(), x.packer.Close()}
	for _, e := range slices.Concat([]*driver.Event{x.sampled, x.first, x.counted, x.looked, x.start}, x.passed, x.sent, x.packed) {
		errs = append(errs, e.Close())
	}
	return errors.Join(append(errs, x.host.Free(), x.hotHost.Free(), x.sizes.Free(), x.module.Unload())...)
}
