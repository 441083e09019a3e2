//go:build cuda

package phj

import "fmt"

// describePayload describes where each side's payload is read and written.
func (r *run) describePayload() error {
	r.fields = r.fields[:0]
	for i, in := range r.Sides {
		s := &r.d.Side[i]
		s.Column, s.Fields, s.FieldCount = [maxColumns]uint64{}, r.tables.join+joinBytes+uint64(len(r.fields)*fieldBytes), 0
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
			case shape.form == fields:
				for at := uint64(0); at < width; at += 4 {
					r.fields = append(r.fields, field{From: from + at, FromStride: width, To: to + at, ToStride: width, Bytes: min(width, 4)})
				}
			case r.modes[i] == place:
				offset, stride := laneOf(r.keyWords, shape.words, word, s.FirstCapacity)
				r.fields = append(r.fields, field{From: s.First + offset, FromStride: stride, To: to, ToStride: width, Bytes: width})
				word += shape.unit
			}
		}
		s.FieldCount = uint64(len(r.fields)) - (s.Fields-r.tables.join-joinBytes)/fieldBytes
	}
	r.describeSources()
	if len(r.fields) > maxFields {
		return fmt.Errorf("phj: %d payload columns are more than fit a join's descriptor", len(r.fields))
	}
	return nil
}

// describePacked describes where side i's packed values are gathered and written.
func (r *run) describePacked(i int) {
	for _, v := range packValues(r.widths[i]) {
		to := r.output.sides[i][v.column]
		r.fields = append(r.fields, field{
			From: r.lanes[i] + r.laneRows[i]*uint64(v.lane) + uint64(v.offset), FromStride: uint64(v.laneSize),
			To: uint64(to.Addr), ToStride: uint64(to.Bytes), Bytes: uint64(to.Bytes),
		})
	}
	r.d.Side[i].FieldCount = uint64(len(r.widths[i]))
}

// describeSources describes, behind all fields, where packed values come from.
func (r *run) describeSources() {
	for i, in := range r.Sides {
		s := &r.d.Side[i]
		s.Packed = 0
		if r.Join.RowIDs || r.shapes[i].form != packed {
			continue
		}
		s.Packed = r.tables.join + joinBytes + uint64(len(r.fields)*fieldBytes)
		for _, v := range packValues(r.widths[i]) {
			from := in.Payload[v.column]
			r.fields = append(r.fields, field{From: uint64(from.Addr), FromStride: uint64(from.Bytes), To: uint64(v.offset), Bytes: uint64(from.Bytes)})
		}
	}
}
