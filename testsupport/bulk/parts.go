package bulk

import (
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// part is the keys whose rows one of several executions joins: device.Common.Partition of
// simulated devices that partition two inputs together.
type part struct{ member, members int }

// Parts returns what executions on some members get as device.Common.Partition, so that Part
// tells each of them its rows.
func Parts(members int) (list []any) {
	for m := range members {
		list = append(list, &part{m, members})
	}
	return list
}

// Part returns the rows of a plan's inputs that an execution joins, which has in common with others
// what Parts returned: those of some keys. Rows without a key are the first member's. The plan has
// one join, of two inputs; their columns have fixed width.
func Part(plan *joincore.Checked, inputs []*joincore.Relation, common device.Common) ([]*joincore.Relation, error) {
	p, ok := common.Partition.(*part)
	if !ok {
		return inputs, nil
	}
	n := joincore.Joins(plan.Root)[0]
	out := make([]*joincore.Relation, len(inputs))
	left, right := device.Keys(n.Keys, plan.Schema().Column)
	for _, key := range []*device.Key{left, right} {
		input := key.Parts[0].Column.Input
		r := inputs[input]
		for i, c := range r.Columns {
			if c.Kind != joincore.Fixed {
				return nil, fmt.Errorf("devices partition no texts, as in column %d of input %d: %w", i, input, joincore.ErrUnsupported)
			}
		}
		out[input] = &joincore.Relation{Columns: r.Columns}
		for i := range r.Segments {
			s := pick(r, &r.Segments[i], func(row int) bool {
				return max(partition(&r.Segments[i], r.Columns, key, row), 0)%p.members == p.member
			})
			if s.Rows > 0 {
				out[input].Segments = append(out[input].Segments, s)
			}
		}
	}
	return out, nil
}
