package suite

import (
	"encoding/binary"

	"gpujoin/joincore"
)

// SegmentedPair returns two inputs of 900 rows in segments of 60, and a plan that joins
// them: every second key of the first one has a partner. A provider with little memory
// can take the inputs apart.
func SegmentedPair(kind joincore.Kind) (*joincore.Plan, []*joincore.Relation) {
	var inputs []*joincore.Relation
	for i := range 2 {
		r := &joincore.Relation{Columns: Int64Columns(2)}
		for first := 0; first < 900; first += 60 {
			s := joincore.Segment{Rows: 60, Columns: []joincore.Vector{{Values: make([]byte, 8*60)}, {Values: make([]byte, 8*60)}}}
			for row := range 60 {
				binary.LittleEndian.PutUint64(s.Columns[0].Values[8*row:], uint64((first+row)*(2-i)))
				binary.LittleEndian.PutUint64(s.Columns[1].Values[8*row:], uint64(first+row))
			}
			r.Segments = append(r.Segments, s)
		}
		inputs = append(inputs, r)
	}
	plan := PairPlan(inputs[0], inputs[1])
	plan.Root.(*joincore.Join).Kind = kind
	return plan, inputs
}
