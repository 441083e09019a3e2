//go:build cuda

package phj

import (
	"fmt"

	"gpujoin/joincore/cuda/columnar"
)

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
				offset, stride := laneOf(r.keyWords, shape.words, word, s.FirstCapacity)
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
	values := packedFields(placed, r.Sides[i], 0, r.lanes[i], r.laneRows[i])
	for k, v := range placed {
		values[k].To = uint64(r.output.sides[i][v.column].Addr)
	}
	s.Packed, s.PackedCount = r.tables.packed+uint64(len(r.packed)*valueBytes), uint64(len(values))
	r.packed = append(append(r.packed, values...), make([]packedField, packedEnd)...)
}

// packedFields describes values of a side that are read from the given row on, and written to
// lanes of the given capacity, in rows, which begin at an address.
func packedFields(values []packedValue, in *columnar.Side, row int64, lanes, capacity uint64) (list []packedField) {
	for _, v := range values {
		from := in.Key
		if v.column != keyColumn {
			from = in.Payload[v.column]
		}
		width := uint64(from.Bytes)
		list = append(list, packedField{
			From: uint64(from.Addr) + uint64(row)*width, Bytes: width,
			Offset: uint64(v.offset), Lane: lanes + capacity*uint64(v.lane), LaneBytes: uint64(v.laneSize),
		})
	}
	return list
}
