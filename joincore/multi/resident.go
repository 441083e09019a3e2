package multi

import (
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// holder is a provider on whose device contents (joincore.Vector) stay from one execution to the
// next.
type holder interface {
	device.Provider
	// Holds reports whether rows of a content are there.
	Holds(content uint64) bool
}

// uneven is by which factor the rows of a member may exceed the mean. Beyond that, rows are
// divided evenly, wherever they are: the slowest member determines the time.
const uneven = 1.2

// divide divides a relation among members. Each gets the segments of which it has most columns,
// and the member with the fewest rows gets those that nobody has. If nobody has any, all rows
// are divided evenly.
func divide(r *joincore.Relation, members []device.Provider) []*joincore.Relation {
	owners, owned := owners(r, members)
	if !owned {
		return slice(r, len(members))
	}
	rows, most := make([]int64, len(members)), uneven*float64(r.Rows())/float64(len(members))
	for i, m := range owners {
		n := int64(r.Segments[i].Rows)
		if m >= 0 && float64(rows[m]+n) <= most {
			rows[m] += n
		} else {
			owners[i] = -1
		}
	}
	for i, m := range owners {
		if m < 0 {
			least := slices.Index(rows, slices.Min(rows))
			owners[i] = least
			rows[least] += int64(r.Segments[i].Rows)
		}
	}
	if float64(slices.Max(rows)) > most {
		return slice(r, len(members))
	}
	out := make([]*joincore.Relation, len(members))
	for i := range out {
		out[i] = &joincore.Relation{Columns: r.Columns}
	}
	for i, m := range owners {
		out[m].Segments = append(out[m].Segments, r.Segments[i])
	}
	return out
}

// owners returns the member that has most columns of each segment, -1 if none has any; owned
// says whether any segment has one.
func owners(r *joincore.Relation, members []device.Provider) (list []int, owned bool) {
	list = make([]int, len(r.Segments))
	for i := range list {
		list[i] = -1
	}
	best := make([]int, len(list))
	for m, p := range members {
		h, ok := p.(holder)
		if !ok {
			continue
		}
		for i := range r.Segments {
			n := 0
			for j := range r.Segments[i].Columns {
				if c := r.Segments[i].Columns[j].Content; c != 0 && h.Holds(c) {
					n++
				}
			}
			if n > best[i] {
				list[i], best[i], owned = m, n, true
			}
		}
	}
	return list, owned
}
