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
	columnar.PutAt(r.Job, x.sources, &x.source[0], x.source[1:])
	if len(fields) > 0 {
		columnar.PutAt(r.Job, x.fieldsAt(), &fields[0], fields[1:])
	}
	if len(packed) > 0 {
		columnar.PutAt(r.Job, x.packedAt(), &packed[0], packed[1:])
	}
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
