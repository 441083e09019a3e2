package bulk

import (
	"encoding/binary"
	"slices"
	"sort"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// idColumn is the column of row ids that rows have, behind all others, if they take their ids to other
// devices.
var idColumn = joincore.Column{Kind: joincore.Fixed, Width: 4, Align: 4}

// Import implements device.Device.
func (d *attending) Import(input int, r *joincore.Relation) (device.Space, error) {
	if side := d.exchange.Side(input); side >= 0 && d.exchange.Numbers(side) {
		all, low, _ := d.exchange.Ranges(side, d.member)
		before := joincore.Relation{Segments: all.Segments[:low]}
		r = numbered(r, uint32(before.Rows()))
	}
	return d.dev.Import(input, r)
}

// numbered returns rows with a column of their ids, from the given one on.
func numbered(r *joincore.Relation, id uint32) *joincore.Relation {
	out := &joincore.Relation{Columns: append(slices.Clone(r.Columns), idColumn)}
	for _, s := range r.Segments {
		var ids joincore.Vector
		for range s.Rows {
			ids.Values = binary.LittleEndian.AppendUint32(ids.Values, id)
			id++
		}
		out.Segments = append(out.Segments, joincore.Segment{Rows: s.Rows, Columns: append(slices.Clone(s.Columns[:len(r.Columns)]), ids)})
	}
	return out
}

// fetched returns rows that have come from several devices, with the values that have not come with them, if
// they have ids.
func (t *team) fetched(input int, r *joincore.Relation) *joincore.Relation {
	side := t.exchange.Side(input)
	if !t.exchange.Numbers(side) {
		return r
	}
	all, _, _ := t.exchange.Ranges(side, 0)
	starts := make([]int, 1, len(all.Segments)+1)
	for i, s := range all.Segments {
		starts = append(starts, starts[i]+s.Rows)
	}
	out := &joincore.Relation{Columns: all.Columns}
	for _, s := range r.Segments {
		ids, own := s.Columns[len(all.Columns)].Values, blank(all.Columns, s.Rows)
		for j, c := range all.Columns {
			if c.Movable() && slices.Contains(t.exchange.Columns[side], j) {
				own.Columns[j] = s.Columns[j]
				continue
			}
			to := &own.Columns[j]
			for row := range s.Rows {
				id := int(binary.LittleEndian.Uint32(ids[4*row:]))
				at := sort.SearchInts(starts, id+1) - 1
				copyValue(c, to, row, &all.Segments[at].Columns[j], id-starts[at])
			}
		}
		out.Segments = append(out.Segments, own)
	}
	return out
}

// copyValue makes a value row number `at` of a vector that is NULL from there on.
func copyValue(c joincore.Column, to *joincore.Vector, at int, from *joincore.Vector, row int) {
	if !from.Null(row) {
		to.Validity[at/8] |= 1 << (at % 8)
		if c.Kind == joincore.Fixed {
			copy(to.Values[c.Width*at:c.Width*(at+1)], from.Values[c.Width*row:])
		} else {
			to.Heap = append(to.Heap, from.Variable(row)...)
		}
	}
	if c.Kind == joincore.Varlena {
		binary.LittleEndian.PutUint32(to.Values[4*(at+1):], uint32(len(to.Heap)))
	}
}
