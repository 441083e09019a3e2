package device

import (
	"slices"

	"gpujoin/joincore"
)

// Exchange describes a join at which the executions of a plan on several devices meet. Each has a
// part of the rows of both inputs, filtered or not. They exchange these rows, so that each joins
// those of some keys, or make one hash table of all build rows, with which each joins its own
// rows of the other side. Each returns its own rows of the result. It is an inner join on keys
// that are exact, without a residual condition.
//
// A row that leaves its device takes its values along. Values that devices do not move, such as
// texts, stay on the host: the row takes its id along, and the device that gets it fetches them by
// that. Ids are numbers in the whole input: Ranges tells each execution its own range of them.
type Exchange struct {
	// Spread: the devices make one table, in the memory of all of them, and rows stay where they are.
	Spread bool
	// Hosted: a part of the table may be in page-locked memory of the host, and there may be one device.
	Hosted bool
	Inputs [2]int // of the left and the right side, as the executions number them
	// Rows are all rows of these inputs, of which each device has a part.
	Rows [2]*joincore.Relation
	// Parts are these parts, by execution: set before the executions begin.
	Parts [][2]*joincore.Relation
	// Columns are those of each input that the join or a later step reads.
	Columns [2][]int
	// ByID are those that devices themselves fetch by row id after the join, so that each of them reads
	// the whole column: those that an aggregate carries, and of those that do not move the keys of later
	// joins.
	ByID [2][]int
	// Whole are the other inputs, which each device reads whole: build sides of later joins.
	Whole []*joincore.Relation
	// Build is the side whose rows are the build side's.
	Build int
	// Result is the expected number of rows of all devices' results.
	Result int64
}

// Joins reports whether a device is asked for the join at which executions meet.
func (x *Exchange) Joins(spec *JoinSpec) bool {
	if len(spec.Build.Parts) == 0 {
		return false
	}
	build, probe := spec.Build.Parts[0].Column.Input, spec.Probe.Parts[0].Column.Input
	return [2]int{build, probe} == x.Inputs || [2]int{probe, build} == x.Inputs
}

// Side returns the number of the side that an input is, 0 or 1; -1: it is none.
func (x *Exchange) Side(input int) int { return slices.Index(x.Inputs[:], input) }

// Nullable reports whether a column of a side may be NULL on any of the devices. Rows that are
// exchanged look alike on all of them, so all say of each row whether it is.
func (x *Exchange) Nullable(side, column int) bool {
	return slices.ContainsFunc(x.Rows[side].Segments, func(s joincore.Segment) bool {
		return column < len(s.Columns) && s.Columns[column].Validity != nil
	})
}

// Fetches reports whether values of a side are fetched by row id after the join.
func (x *Exchange) Fetches(side int) bool {
	return len(x.ByID[side]) > 0 || slices.ContainsFunc(x.Columns[side], func(j int) bool { return !x.Rows[side].Columns[j].Movable() })
}

// Numbers reports whether rows of a side take their ids to other devices.
func (x *Exchange) Numbers(side int) bool {
	return (!x.Spread || side == x.Build) && x.Fetches(side)
}

// Ranges returns all rows of a side, those of one execution after the other, and which of its
// segments an execution has.
func (x *Exchange) Ranges(side, execution int) (all *joincore.Relation, low, high int) {
	all = &joincore.Relation{Columns: x.Rows[side].Columns}
	for i, part := range x.Parts {
		if i == execution {
			low = len(all.Segments)
			high = low + len(part[side].Segments)
		}
		all.Segments = append(all.Segments, part[side].Segments...)
	}
	return all, low, high
}

// rowIDBytes is what the id of a row takes.
const rowIDBytes = 4

// RowBytes returns the bytes of a row that other devices read: the columns that move, a byte for
// each that may be NULL, and the row's id if it takes it along.
func (x *Exchange) RowBytes(side int) (bytes int64) {
	for _, j := range x.Columns[side] {
		c := x.Rows[side].Columns[j]
		if !c.Movable() {
			continue
		}
		bytes += int64(c.Width)
		if x.Nullable(side, j) {
			bytes++
		}
	}
	if x.Numbers(side) {
		bytes += rowIDBytes
	}
	return bytes
}
