//go:build cuda

package columnar

import "gpujoin/joincore/cuda/driver"

// Source is where the kernels read a side's payload once partners are known: values
// by the row number in the match, or, if Gather is set, row numbers first and the
// values by these in the end.
type Source struct {
	Key     uint64   // key column
	Payload []uint64 // columns; empty if Gather
	Gather  bool
	IDs     uint64 // column of row numbers; 0: those of the rows themselves
}

// ResultMemory is the memory of a result and how it is written.
type ResultMemory struct {
	Match  Result // the columns that the match writes
	Gather Result // the columns that are gathered afterwards
	Of     []Payload
	out    Output
}

// Payload names the input column of a column in Output.Gather, in the same order. The
// column that temporarily holds a side's row numbers comes last of its side.
type Payload struct{ Side, Column int }

// TakeOutput takes memory for a result of the given rows and describes it. The match
// counts the rows at `counter`. inPlace: row numbers are stored in result columns
// where possible, with strided writes if no column has 4 bytes.
func (b *Job) TakeOutput(rows int64, counter uint64, sources [2]Source, inPlace bool) *ResultMemory {
	o := &ResultMemory{Match: Result{Capacity: uint64(rows), Rows: counter}}
	o.Gather = o.Match
	take := func(width int) Column {
		return Column{Addr: driver.Ptr(b.Take(rows * int64(width))), Bytes: width}
	}
	if !b.Join.NoKey {
		o.out.Key = take(b.Join.Probe.Key.Bytes)
		o.Match.add(ResultColumn{Side: 1, Bytes: uint64(o.out.Key.Bytes), From: sources[1].Key, To: uint64(o.out.Key.Addr)})
	}
	for i, s := range sources {
		columns := [2]*[]Column{&o.out.Build, &o.out.Probe}[i]
		if b.Join.RowIDs {
			*columns = []Column{take(4)}
			o.Match.add(ResultColumn{Side: uint64(i), Bytes: 4, From: s.IDs, To: uint64((*columns)[0].Addr)})
			continue
		}
		for _, in := range b.Sides[i].Payload {
			*columns = append(*columns, take(in.Bytes))
		}
		if s.Gather {
			b.byNumber(o, i, s, *columns, rows, inPlace)
			continue
		}
		for k, c := range *columns {
			o.Match.add(ResultColumn{Side: uint64(i), Bytes: uint64(c.Bytes), From: s.Payload[k], To: uint64(c.Addr)})
		}
	}
	return o
}

// byNumber describes a side whose payload is gathered by row number.
func (b *Job) byNumber(o *ResultMemory, side int, s Source, columns []Column, rows int64, inPlace bool) {
	in, at := b.Sides[side].Payload, -1
	if inPlace {
		at = numberColumn(Widths(in))
	}
	var index, step uint64
	if at >= 0 {
		index, step = uint64(columns[at].Addr), uint64(columns[at].Bytes/4)
	} else {
		index, step = b.Take(rows*4), 1
	}
	o.Match.add(ResultColumn{Side: uint64(side), Bytes: 4, From: s.IDs, Step: step, To: index})
	gather := func(k int) {
		o.Of = append(o.Of, Payload{side, k})
		o.Gather.add(ResultColumn{Side: uint64(side), Bytes: uint64(in[k].Bytes), From: uint64(in[k].Addr), Index: index, Step: step, To: uint64(columns[k].Addr)})
	}
	for k := range in {
		if k != at {
			gather(k)
		}
	}
	if at >= 0 {
		gather(at)
	}
}

// KeyFrom sets the source of the result's key column, if it has one.
func (o *ResultMemory) KeyFrom(at uint64) {
	if o.out.Key.Addr != 0 {
		o.Match.Column[0].From = at
	}
}

// GatherPayload queues the gathers after the match, one launch per column.
func (b *Job) GatherPayload(o *ResultMemory) {
	if o.Gather.Columns == 0 {
		return
	}
	kernel, at, bytes := b.Kernel("gj_result_gather"), Put(b, &o.Gather), int64(0)
	for c := range o.Gather.Columns {
		b.Launch(kernel, kernel.Blocks*b.SMs, at, c)
		rows, of := int64(o.Gather.Capacity), o.Gather.Column[c]
		bytes += rows*int64(4+of.Bytes) + b.Random(rows, ReadAtRandom, b.Sides[of.Side].Rows*int64(of.Bytes))
	}
	b.Phase(PhaseGather, bytes)
}

// GatherColumn queues the gather of one column, whose sorted values are at `from`.
func (b *Job) GatherColumn(o *ResultMemory, c int, from uint64) {
	o.Gather.Column[c].From = from
	kernel := b.Kernel("gj_result_gather")
	b.Launch(kernel, kernel.Blocks*b.SMs, Put(b, &o.Gather), uint64(c))
}

// Bytes returns the bytes that the match writes, as modelled.
func (o *ResultMemory) Bytes() (bytes int64) {
	for _, c := range o.Match.Column[:o.Match.Columns] {
		bytes += int64(o.Match.Capacity * c.Bytes)
	}
	return bytes
}

// Result returns the columns of a result with the given rows.
func (o *ResultMemory) Result(rows int64) *Output {
	o.out.Rows = rows
	return &o.out
}

// Widths returns the bytes per value of each column.
func Widths(columns []Column) (widths []int) {
	for _, c := range columns {
		widths = append(widths, c.Bytes)
	}
	return widths
}

// add appends a column.
func (r *Result) add(c ResultColumn) {
	c.Step = max(c.Step, 1)
	r.Column[r.Columns] = c
	r.Columns++
}
