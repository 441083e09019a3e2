//go:build cuda

package phj

import (
	"context"
	"fmt"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// sourceAt returns the address of the descriptor of what is counted and sent in a flow.
func (x *Share) sourceAt(flow int) uint64 { return x.sources + uint64(flow*joinBytes) }

// fieldsAt is where the sources' fields begin.
func (x *Share) fieldsAt() uint64 { return x.sources + uint64(len(x.flows)*joinBytes) }

// CountBuild counts the rows of the build side by partition and, if Cut.Sample is set, those
// of the first range of the probe side.
func (x *Share) CountBuild() error {
	r := x.run
	fields, packed := x.describeSources()
	r.PutAt(x.sources, columnar.BytesOf(x.source))
	r.PutAt(x.fieldsAt(), columnar.BytesOf(fields))
	r.PutAt(x.packedAt(), columnar.BytesOf(packed))
	r.clear()
	r.Do(func() error { return x.stream.Record(x.sender.start) })
	if x.cut.Sample {
		x.countFlows(0, countBuild|countProbe, 0, x.builds)
		r.Do(func() error { return x.stream.Record(x.sender.sampled) })
		r.Report.Syncs++ // Sample waits
	}
	sampled := x.sampledFlows()
	for i := sampled; i < x.builds; i++ {
		x.countFlows(i, countBuild, i)
	}
	r.Do(func() error { return x.stream.Record(x.sender.first) })
	return r.Err()
}

// CountProbe counts the rest of the probe side.
func (x *Share) CountProbe() { x.countProbe(x.sampledFlows()) }

// countProbe counts the flows of the probe side from the given one on.
func (x *Share) countProbe(first int) {
	for i := x.builds + first; i < len(x.flows); i++ {
		x.countFlows(i, countProbe, i)
	}
	x.run.Do(func() error { return x.stream.Record(x.sender.counted) })
	x.run.phase(columnar.PhaseHistogram)
}

// sampledFlows is how many flows of each side are counted first.
func (x *Share) sampledFlows() int {
	if x.cut.Sample {
		return 1
	}
	return 0
}

// countFlows counts the rows of one or two flows that a source describes, behind those
// before them of the same side. The sums by partition of the first pass go straight to the
// host's memory.
func (x *Share) countFlows(source int, sides uint64, flows ...int) {
	r, rows := x.run, int64(0)
	for _, i := range flows {
		rows += x.flows[i].rows
	}
	k := r.kernels.histogram
	most := 0
	if x.cut.Sample && source >= x.builds && x.cut.Sending < r.SMs {
		most = r.SMs - x.cut.Sending // the build side is sent meanwhile
	}
	r.LaunchShared(k, max(2, limited(k.Grid(rows/8192), most)), r.counterBytes(), x.sourceAt(source), sides)
	fold, d := x.sender.fold, &r.d
	for _, i := range flows {
		to := uint64(x.sender.host.DevicePointer()) + uint64(4*i*x.Partitions())
		r.Launch(fold, x.Partitions()/fold.Rows+1, x.local[x.flows[i].side], d.BitsFirst, d.BitsSecond, to)
	}
}

// describeSources describes the columns that are sent in each flow. The sources of
// the build side also have the first flow of the probe side.
func (x *Share) describeSources() (fields []field, values []packedField) {
	r := x.run
	for i, f := range x.flows {
		d := r.d
		of := [2]flow{x.flows[x.builds-1], x.flows[x.builds]}
		of[f.side] = x.flows[i]
		for side, in := range r.Sides {
			s, from := &d.Side[side], of[side].from
			s.Rows = uint64(of[side].rows)
			s.Key = uint64(in.Key.Addr) + uint64(from*int64(in.Key.Bytes))
			s.Fields, s.FieldCount = x.fieldsAt()+uint64(len(fields)*fieldBytes), 0
			switch r.shapes[side].form {
			case packed:
				s.Packed, s.PackedCount = x.packedAt()+uint64(len(values)*valueBytes), uint64(len(in.Payload))
				values = append(values, x.sentValues(side, from)...)
				continue
			case byID:
				continue
			}
			payload := make([]columnar.Column, len(in.Payload))
			for c, column := range in.Payload {
				payload[c] = columnar.Column{Addr: column.Addr + driver.Ptr(from*int64(column.Bytes)), Bytes: column.Bytes}
				if r.shapes[side].form == columns {
					s.Column[c] = uint64(payload[c].Addr)
				}
			}
			if r.shapes[side].form != columns {
				fields = append(fields, carriedFields(r.shapes[side], payload, nil, r.widths[side])...)
				s.FieldCount = uint64(len(payload))
			}
		}
		x.source = append(x.source, d)
	}
	return fields, values
}

// Sample waits until the first range of each side is counted, and returns its rows by
// partition. Cut.Sample is set. The rest is still being counted, and CountProbe may be called
// meanwhile.
func (x *Share) Sample(ctx context.Context) (build, probe []int64, err error) {
	if err := x.sender.sampled.Spin(ctx); err != nil {
		return nil, nil, err
	}
	return x.countsOf(0), x.countsOf(x.builds), nil
}

// BuildCounts waits until the build side is counted, and returns its rows by flow and
// partition.
func (x *Share) BuildCounts(ctx context.Context) ([][]int64, error) {
	if err := x.counted(ctx, x.sender.first); err != nil {
		return nil, err
	}
	return x.countsOfSide(0)
}

// ProbeCounts waits until all rows are counted, and returns those of the probe side.
func (x *Share) ProbeCounts(ctx context.Context) ([][]int64, error) {
	if err := x.counted(ctx, x.sender.counted); err != nil {
		return nil, err
	}
	return x.countsOfSide(1)
}

// countsOfSide returns the rows of a side by flow and partition.
func (x *Share) countsOfSide(side int) (counts [][]int64, err error) {
	rows := int64(0)
	for i, f := range x.flows {
		if f.side != side {
			continue
		}
		list := x.countsOf(i)
		if len(counts) > 0 { // the histogram went on
			for p, n := range x.countsOf(i - 1) {
				list[p] -= n
			}
		}
		for _, n := range list {
			if n < 0 {
				return nil, fmt.Errorf("phj: %d rows counted", n)
			}
			rows += n
		}
		counts = append(counts, list)
	}
	if want := x.run.Sides[side].Rows; rows != want {
		return nil, fmt.Errorf("phj: %d rows counted of %d", rows, want)
	}
	return counts, nil
}

// counted waits for counts, without leaving the processor.
func (x *Share) counted(ctx context.Context, read *driver.Event) error {
	if err := x.run.Err(); err != nil {
		return err
	}
	x.run.Report.Syncs++
	return read.Spin(ctx)
}

// countsOf returns the counts of a flow as they were read.
func (x *Share) countsOf(flow int) []int64 {
	list, words := make([]int64, x.Partitions()), x.sender.host.Words()
	for p := range list {
		i := flow*len(list) + p
		list[p] = int64(uint32(words[i/2] >> (32 * (i % 2))))
	}
	return list
}

// Piece is bytes to copy from one device's memory to that of another one.
type Piece struct {
	From, To driver.Ptr
	Bytes    int64
}

// secondPasses is the number of second passes of a flow.
func (x *Share) secondPasses() int {
	if x.cut.Way != Store {
		return x.cut.Devices
	}
	return 1
}

// Blocks returns the copies that bring a block of a flow to the device whose share is other.
func (x *Share) Blocks(flow int, other *Share, b Block) (list []Piece) {
	if b.Rows == 0 {
		return nil
	}
	side := x.flows[flow].side
	type stripes struct{ at, capacity uint64 }
	add := func(from, to stripes, sizes []int64) {
		before := int64(0) // bytes of a row
		for _, bytes := range sizes {
			place := func(l stripes, row int64) driver.Ptr {
				return driver.Ptr(l.at) + driver.Ptr(int64(l.capacity)*before+row*bytes)
			}
			list = append(list, Piece{From: place(from, b.From), To: place(to, b.At), Bytes: b.Rows * bytes})
			before += bytes
		}
	}
	buffer := func(r *run) stripes { return stripes{r.d.Side[side].First, r.d.Side[side].FirstCapacity} }
	add(buffer(x.run), buffer(other.run), stripeSizes(int(x.bufferBytes(side)/4)))
	if x.run.modes[side] == pack {
		packed := func(r *run) stripes { return stripes{r.stripes[side], r.stripeRows[side]} }
		add(packed(x.run), packed(other.run), packedStripeSizes(4*x.run.shapes[side].words))
	}
	return list
}

// Copy queues copies of a flow's blocks to other devices, when its first pass has ended.
func (x *Share) Copy(flow int, pieces []Piece) {
	s := x.sender
	spans := make([]driver.Span, len(pieces))
	for i, p := range pieces {
		spans[i] = driver.Span{To: p.To, From: p.From, Bytes: uint64(p.Bytes)}
	}
	x.run.Do(func() error { return s.copier.Wait(s.passed[flow]) })
	x.run.Do(func() error { return s.copier.Copies(spans, s.sent[flow]) })
}

// Counts returns the copies that bring the histograms of this device, with the given
// number, to another one.
func (x *Share) Counts(self int, other *Share) (list []Piece) {
	for side, from := range x.local {
		list = append(list, Piece{From: driver.Ptr(from), To: driver.Ptr(other.countsAt(side, self)), Bytes: 4 << x.run.bits})
	}
	return list
}

// countsAt is where the histogram of another device is copied.
func (x *Share) countsAt(side, device int) uint64 {
	return x.copies[side] + uint64(device)*4<<x.run.bits
}

// WaitSent waits until this device's first pass of a flow has ended.
func (x *Share) WaitSent(ctx context.Context, flow int) error {
	return x.counted(ctx, x.sender.sent[flow])
}

// first returns the ordinary first pass of a side, whose rows all stay in this device's memory,
// and nil if it has to be a pass that can send: row ids are those of all devices, and columns
// that are not aligned any more need another kernel.
func (x *Share) first(side int) *driver.Kernel {
	r := x.run
	k, s := r.kernels.first[side], r.shapes[side]
	if s.form == byID || s.form == fields && firstKernel(r.keyWords, s, r.aligned()[side]) != k.Name {
		return nil
	}
	return k
}

// keptValues describes how an ordinary first pass packs a side's values from the given row on;
// nil if it moves columns.
func (x *Share) keptValues(side int, from int64) []packedField {
	r := x.run
	switch s := &r.d.Side[side]; r.shapes[side].form {
	case fields:
		return packedFields(carryValues(r.keyWords, r.shapes[side], r.widths[side]), r.Sides[side], from, s.First, s.FirstCapacity)
	case packed:
		return packedFields(packValues(r.widths[side]), r.Sides[side], from, r.stripes[side], r.stripeRows[side])
	}
	return nil
}

// keptBytes is the most that keptValues of a flow may take.
func (x *Share) keptBytes(side int) int { return valueBytes * len(x.keptValues(side, 0)) }

// takeStripes takes memory for the stripes of a packed side, with as many rows as its buffer.
func (x *Share) takeStripes(side int, capacity int64) {
	r := x.run
	if r.modes[side] != pack {
		return
	}
	r.stripeRows[side] = roundUp(capacity, 64)
	r.stripes[side] = r.Take(int64(r.stripeRows[side]) * 4 * int64(r.shapes[side].words))
}

// packedBytes is the size of the description of packed payload in one flow.
func (x *Share) packedBytes() (bytes int64) {
	for side, s := range x.run.shapes {
		if s.form == packed {
			bytes += int64(len(x.run.widths[side])+packedEnd) * valueBytes
		}
	}
	return bytes
}

// packedAt is where the description of the sources' packed payload begins.
func (x *Share) packedAt() uint64 {
	return x.fieldsAt() + uint64(len(x.flows)*2*maxCarried*fieldBytes)
}

// sentValues describes a packed side's values from the given row on: where they are read,
// and in which stripe of a receiver's they are written. In a buffer of one row at address 0, a
// stripe's address is where it begins in a row: the kernel computes each receiver's address from it.
func (x *Share) sentValues(side int, from int64) []packedField {
	return append(packedFields(packValues(x.run.widths[side]), x.run.Sides[side], from, 0, 1), make([]packedField, packedEnd)...)
}
