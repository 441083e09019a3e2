//go:build cuda

package launch

import (
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/resident"
)

// Source is from where a join's kernels take a side's payload once they know
// the partners: values that lie by the row that they name, and where `Gather`
// is set, row numbers first and the values by these at the end (GFTR's UM).
type Source struct {
	Key     uint64   // column of keys
	Payload []uint64 // columns; empty where Gather
	Gather  bool
	IDs     uint64 // column of input row numbers; 0: the rows are the input's
}

// Output is room for a result, and how it is written.
type Output struct {
	Match  Result // what the match writes
	Gather Result // what is gathered afterwards
	out    resident.Output
}

// TakeOutput takes room for a result of so many rows and describes it; at
// `counter` the match counts its rows.
func (b *Job) TakeOutput(rows int64, counter uint64, sources [2]Source) *Output {
	o := &Output{Match: Result{Capacity: uint64(rows), Rows: counter}}
	o.Gather = o.Match
	take := func(width int) resident.Column {
		return resident.Column{Addr: driver.Ptr(b.Take(rows * int64(width))), Bytes: width}
	}
	if !b.Join.NoKey {
		o.out.Key = take(b.Join.Probe.Key.Bytes)
		o.Match.add(ResultColumn{Side: 1, Bytes: uint64(o.out.Key.Bytes), From: sources[1].Key, To: uint64(o.out.Key.Addr)})
	}
	for i, s := range sources {
		columns := [2]*[]resident.Column{&o.out.Build, &o.out.Probe}[i]
		side := uint64(i)
		if b.Join.RowIDs {
			*columns = []resident.Column{take(4)}
			o.Match.add(ResultColumn{Side: side, Bytes: 4, From: s.IDs, To: uint64((*columns)[0].Addr)})
			continue
		}
		var ids uint64
		if s.Gather {
			ids = b.Take(rows * 4)
			o.Match.add(ResultColumn{Side: side, Bytes: 4, From: s.IDs, To: ids})
		}
		for k, in := range b.Sides[i].Payload {
			c := take(in.Bytes)
			*columns = append(*columns, c)
			if s.Gather {
				o.Gather.add(ResultColumn{Side: side, Bytes: uint64(in.Bytes), From: uint64(in.Addr), Index: ids, To: uint64(c.Addr)})
			} else {
				o.Match.add(ResultColumn{Side: side, Bytes: uint64(in.Bytes), From: s.Payload[k], To: uint64(c.Addr)})
			}
		}
	}
	return o
}

// GatherPayload queues what the match has left to be gathered, a launch a column.
func (b *Job) GatherPayload(o *Output) {
	if o.Gather.Columns == 0 {
		return
	}
	kernel, at, bytes := b.Kernel("gj_result_gather"), Put(b, &o.Gather), int64(0)
	for c := range o.Gather.Columns {
		b.Launch(kernel, kernel.Blocks*b.SMs, at, c)
		bytes += int64(o.Gather.Capacity) * int64(4+sector+o.Gather.Column[c].Bytes)
	}
	b.Phase("gather", bytes)
}

// sector is what a random read costs, in bytes.
const sector = 32

// Bytes returns what the match writes, as modelled.
func (o *Output) Bytes() (bytes int64) {
	for _, c := range o.Match.Column[:o.Match.Columns] {
		bytes += int64(o.Match.Capacity * c.Bytes)
	}
	return bytes
}

// Result returns the result's columns, of so many rows.
func (o *Output) Result(rows int64) *resident.Output {
	o.out.Rows = rows
	return &o.out
}

// add appends a column.
func (r *Result) add(c ResultColumn) {
	r.Column[r.Columns] = c
	r.Columns++
}
