//go:build cuda

package phj

import (
	"fmt"
	"slices"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// tables are a join's small arrays and the marks around its buffers.
type tables struct {
	join       uint64 // descriptor, then fields
	packed     uint64 // packed values
	zero       uint64 // counters, histograms and the sample
	zeroBytes  int64
	bottom     driver.Mark // before the join
	outputFrom driver.Mark // start of the result: after what the match reads
	spare      spare       // memory before that which the match does not read
}

// spare is memory that columns of the result may have.
type spare struct {
	at    uint64
	bytes int64
}

// take returns the address of n bytes, if that many are left.
func (s *spare) take(n int64) (at uint64, ok bool) {
	n = driver.Lines(n)
	if n > s.bytes {
		return 0, false
	}
	at = s.at
	s.at, s.bytes = s.at+uint64(n), s.bytes-n
	return at, true
}

// maxFields is the most fields of both sides.
const maxFields = 512

// takeTables takes the arrays whose sizes follow from the bits, and describes the inputs
// for the histogram.
func (r *run) takeTables() error {
	r.tables.bottom = r.Mark()
	parts, parents := max(int64(4), int64(1)<<r.bits), int64(256)
	r.d = joinDescriptor{Counters: r.Take(8 * counters)}
	for i := range r.d.Side {
		r.d.Side[i].Count = r.Take(4 * parts)
	}
	if r.sampling() {
		r.d.Sample = r.Take(sampleBytes)
	}
	r.tables.zero = r.d.Counters
	r.tables.zeroBytes = int64(r.Mark()) - int64(r.tables.bottom)
	r.tables.join = r.Take(joinBytes + maxFields*fieldBytes)
	r.tables.packed = r.Take(2 * (maxPacked + packedEnd) * valueBytes)
	r.d.Extra = r.Take(8 * (parts + 1))
	r.d.Tails = r.Take(8 * maxTails)
	for i, in := range r.Sides {
		s := &r.d.Side[i]
		s.Rows, s.Key = uint64(in.Rows), uint64(in.Key.Addr)
		for _, p := range []*uint64{&s.Start, &s.Cursor, &s.Tail} {
			*p = r.Take(4 * parts)
		}
		for _, p := range []*uint64{&s.ParentCount, &s.ParentStart, &s.ParentCursor, &s.ParentTail} {
			*p = r.Take(4 * parents)
		}
	}
	if r.sampling() {
		r.d.Bypassed = r.Take((r.Join.Probe.Rows + 31) / 32 * 4)
	}
	r.d.BitsFirst = uint64(r.bits) // the histogram needs only the sum of both passes' bits
	return r.Err()
}

const maxTails = 1024

// splitPasses divides the bits between the passes.
func (r *run) splitPasses() {
	mostFirst, mostSecond := r.fans()
	first, second := splitBits(r.bits, mostFirst, mostSecond)
	if r.shapes[0].form == beside || r.shapes[1].form == beside {
		first, second = besideBits, r.bits-besideBits
	}
	r.d.BitsFirst, r.d.BitsSecond = uint64(first), uint64(second)
	r.d.ChunkRows, r.d.RangeRows = uint64(r.kernels.match.Rows), 8*uint64(r.kernels.match.Rows)
}

// takeBuffers takes the row buffers of both sides' passes.
func (r *run) takeBuffers() error {
	for i, in := range r.Sides {
		r.takeFinal(i, in.Rows)
	}
	for i, in := range r.Sides {
		if r.modes[i] == pack {
			r.takeStripes(i, in.Rows)
		}
		if r.modes[i] == place {
			r.takeFirst(i, in.Rows)
		}
	}
	// Both passes over one side end before those over the other begin. The result replaces
	// their buffers.
	r.tables.outputFrom = r.Mark()
	for i, in := range r.Sides {
		if r.modes[i] != place {
			r.Rewind(r.tables.outputFrom)
			r.takeFirst(i, in.Rows)
		}
	}
	return r.Err()
}

// takeFinal allocates memory for rows partitioned rows of side i.
func (r *run) takeFinal(i int, rows int64) {
	s := &r.d.Side[i]
	s.FinalCapacity = roundUp(rows+8<<r.bits, 64)
	s.Final = r.Take(int64(s.FinalCapacity) * 4 * int64(r.finalWords(i)))
}

// takeFirst takes memory for them between the passes.
func (r *run) takeFirst(i int, rows int64) {
	if r.d.BitsSecond == 0 {
		return
	}
	s := &r.d.Side[i]
	words := r.keyWords
	if r.modes[i] != pack {
		words += r.shapes[i].words
	}
	s.FirstCapacity = r.firstCapacity(rows)
	s.First = r.Take(int64(s.FirstCapacity) * 4 * int64(words))
}

// firstCapacity is the capacity of a buffer between the passes.
func (r *run) firstCapacity(rows int64) uint64 { return roundUp(rows+32<<r.d.BitsFirst, 64) }

// takeStripes takes memory for the stripes of side i, whose rows are packed: in the order
// of the first pass.
func (r *run) takeStripes(i int, rows int64) {
	r.stripeRows[i] = r.d.Side[i].FinalCapacity
	if r.d.BitsSecond != 0 {
		r.stripeRows[i] = r.firstCapacity(rows)
	}
	r.stripes[i] = r.Take(int64(r.stripeRows[i]) * 4 * int64(r.shapes[i].words))
}

// finalWords returns the words that the match reads of each row of side i.
func (r *run) finalWords(i int) int {
	if r.modes[i].positioned() {
		return r.keyWords + 1
	}
	return r.keyWords + r.shapes[i].words
}

// output is the room for a result.
type output struct {
	rows  int64 // guaranteed capacity
	key   columnar.Column
	sides [2][]columnar.Column
}

// result returns the columns of a result with the given rows.
func (o *output) result(rows int64) *columnar.Output {
	return &columnar.Output{Rows: rows, Key: o.key, Build: o.sides[0], Probe: o.sides[1]}
}

// takeOutput takes memory for a result of the given rows, after what the match reads, and
// describes its columns.
func (r *run) takeOutput(rows int64) error {
	r.Rewind(r.tables.outputFrom)
	match := r.kernels.match.Grid(maxTails)
	tails := match
	if r.bypass != nil {
		tails += r.bypass.grid
	}
	chunk := outputChunk(rows, tails)
	capacity := (rows+chunk-1)/chunk*chunk + int64(tails)*chunk
	r.d.OutputChunk, r.d.OutputCapacity = uint64(chunk), uint64(capacity)
	r.d.TailCount, r.d.BypassTail = uint64(tails), uint64(match)
	spare := r.tables.spare
	column := func(width int) columnar.Column {
		at, ok := spare.take(capacity * int64(width))
		if !ok {
			at = r.Take(capacity * int64(width))
		}
		return columnar.Column{Addr: driver.Ptr(at), Bytes: width}
	}
	r.output = output{rows: rows}
	if !r.Join.NoKey {
		r.output.key = column(4 * r.keyWords)
	}
	r.d.OutputKey = uint64(r.output.key.Addr)
	for i := range r.Sides {
		widths := r.widths[i]
		if r.Join.RowIDs {
			widths = []int{4}
		}
		r.output.sides[i] = nil
		for _, w := range widths {
			r.output.sides[i] = append(r.output.sides[i], column(w))
		}
	}
	r.takePositions(uint64(capacity))
	if r.Err() != nil {
		return r.Err()
	}
	return r.describePayload()
}

// takePositions finds memory for the positions of packed sides' rows, `capacity` for
// each: where the match writes them, and where they are gathered from.
func (r *run) takePositions(capacity uint64) {
	free := r.partitions() // not needed after the match
	for i := range r.Sides {
		r.positions[i] = 0
		if r.modes[i] != pack {
			continue
		}
		s, bytes := &r.d.Side[i], roundUp(int64(capacity*positionBytes), driver.Line)
		columns := r.output.sides[i]
		switch positionsOf(r.widths[i]) {
		case positionsStay:
			same := slices.IndexFunc(columns, func(c columnar.Column) bool { return c.Bytes == positionBytes })
			r.positions[i] = uint64(columns[same].Addr)
			s.Positions = r.positions[i]
		case positionsMove:
			if inOnePiece(columns, int64(capacity)) < bytes {
				r.positions[i] = r.Take(int64(bytes))
				s.Positions = r.positions[i]
				break
			}
			r.positions[i] = uint64(columns[0].Addr)
			at, ok := free.take(int64(bytes))
			if !ok {
				at = r.Take(int64(bytes))
			}
			s.Positions = at
		case positionsApart:
			r.positions[i] = r.Take(int64(bytes))
			s.Positions = r.positions[i]
		}
	}
}

// inOnePiece returns the bytes of the first columns of a result that follow one another in
// memory: some may lie in spare memory, and others behind it.
func inOnePiece(columns []columnar.Column, capacity int64) (bytes uint64) {
	for _, c := range columns {
		if uint64(c.Addr) != uint64(columns[0].Addr)+bytes {
			break
		}
		bytes += uint64(driver.Lines(capacity * int64(c.Bytes)))
	}
	return bytes
}

// partitions returns the memory of both sides' partitions, or of those of the larger side
// if there is something between them.
func (r *run) partitions() spare {
	var of [2]spare
	for i := range of {
		s := &r.d.Side[i]
		of[i] = spare{s.Final, int64(s.FinalCapacity) * 4 * int64(r.finalWords(i))}
	}
	build, probe := of[0], of[1]
	switch {
	case build.at+uint64(driver.Lines(build.bytes)) == probe.at:
		return spare{build.at, int64(probe.at-build.at) + probe.bytes}
	case probe.bytes > build.bytes:
		return probe
	}
	return build
}

// describePayload describes where each side's payload is read and written.
func (r *run) describePayload() error {
	r.fields, r.packed = r.fields[:0], r.packed[:0]
	for i, in := range r.Sides {
		s := &r.d.Side[i]
		s.Column, s.Fields, s.FieldCount = [maxColumns]uint64{}, r.tables.join+joinBytes+uint64(len(r.fields)*fieldBytes), 0
		s.Packed, s.PackedCount = 0, 0
		r.d.OutputColumn[i] = [maxColumns]uint64{}
		if r.Join.RowIDs {
			r.d.OutputColumn[i][0] = uint64(r.output.sides[i][0].Addr)
			continue
		}
		shape := r.shapes[i]
		if shape.form == packed {
			r.describePacked(i)
			continue
		}
		if shape.form == fields || shape.form == beside {
			r.fields = append(r.fields, carriedFields(shape, in.Payload, r.output.sides[i], r.widths[i])...)
		}
		if shape.form == fields {
			r.describeCarried(i)
		}
		word := 0
		for c, column := range in.Payload {
			from, to := uint64(column.Addr), uint64(r.output.sides[i][c].Addr)
			width := uint64(column.Bytes)
			if shape.form == columns || r.bypass != nil {
				s.Column[c], r.d.OutputColumn[i][c] = from, to
			}
			switch {
			case shape.form == byID:
				r.fields = append(r.fields, field{From: from, FromStride: width, To: to, ToStride: width, Bytes: width})
			case r.modes[i] == place:
				offset, stride := stripeOf(r.keyWords, shape.words, word, s.FirstCapacity)
				r.fields = append(r.fields, field{From: s.First + offset, FromStride: stride, To: to, ToStride: width, Bytes: width})
				word += shape.unit
			}
		}
		s.FieldCount = uint64(len(r.fields)) - (s.Fields-r.tables.join-joinBytes)/fieldBytes
	}
	if len(r.fields) > maxFields {
		return fmt.Errorf("phj: %d payload columns are more than fit a join's descriptor", len(r.fields))
	}
	return nil
}

// maxCarried is the most fields that a side carries: 4 in a word.
const maxCarried = 4 * maxFieldWords

// carriedFields describes where the values of carried fields are read, and written if to is
// not nil.
func carriedFields(s shape, from, to []columnar.Column, widths []int) (list []field) {
	for _, v := range placeCarried(s, widths) {
		width := uint64(widths[v.column])
		f := field{From: uint64(from[v.column].Addr), FromStride: width, ToStride: width, Bytes: width, At: uint64(v.at)}
		if to != nil {
			f.To = uint64(to[v.column].Addr)
		}
		list = append(list, f)
	}
	return list
}

// describeCarried describes how the first pass writes the carried fields of side i.
func (r *run) describeCarried(i int) {
	s := &r.d.Side[i]
	buffer, capacity := s.First, s.FirstCapacity
	if r.d.BitsSecond == 0 {
		buffer, capacity = s.Final, s.FinalCapacity
	}
	values := packedFields(carryValues(r.keyWords, r.shapes[i], r.widths[i]), r.Sides[i], 0, buffer, capacity)
	s.Packed, s.PackedCount = r.tables.packed+uint64(len(r.packed)*valueBytes), uint64(len(values))
	r.packed = append(r.packed, values...)
}

// describePacked describes where side i's values are read, packed and written.
func (r *run) describePacked(i int) {
	s := &r.d.Side[i]
	r.d.OutputColumn[i][0] = r.positions[i]
	placed := packValues(r.widths[i])
	values := packedFields(placed, r.Sides[i], 0, r.stripes[i], r.stripeRows[i])
	for k, v := range placed {
		values[k].To = uint64(r.output.sides[i][v.column].Addr)
	}
	s.Packed, s.PackedCount = r.tables.packed+uint64(len(r.packed)*valueBytes), uint64(len(values))
	r.packed = append(append(r.packed, values...), make([]packedField, packedEnd)...)
}

// packedFields describes values of a side that are read from the given row on, and written to
// stripes of the given capacity, in rows, which begin at an address.
func packedFields(values []packedValue, in *columnar.Side, row int64, stripes, capacity uint64) (list []packedField) {
	for _, v := range values {
		from := in.Key
		if v.column != keyColumn {
			from = in.Payload[v.column]
		}
		width := uint64(from.Bytes)
		list = append(list, packedField{
			From: uint64(from.Addr) + uint64(row)*width, Bytes: width,
			Offset: uint64(v.offset), Lane: stripes + capacity*uint64(v.stripe), LaneBytes: uint64(v.stripeSize),
		})
	}
	return list
}
