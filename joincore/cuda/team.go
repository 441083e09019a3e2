package cuda

import (
	"fmt"
	"slices"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// unfitForTeam returns the reason why devices cannot exchange the rows of a join, "" if they can.
// Each of them comes to the meeting once, so the probe side has to come at once as well.
func unfitForTeam(spec *device.JoinSpec) string {
	if !spec.ProbeOnce {
		return "its probe side is a result"
	}
	once := *spec
	once.ProbeInput = true
	return unfitForMaterialised(&once)
}

// unfitForSpread returns the reason why devices cannot join with one table of all of them, "" if they
// can. The probe side may come in any number of parts.
func unfitForSpread(spec *device.JoinSpec) string {
	input := *spec
	input.ProbeInput = true
	return unfitForMaterialised(&input)
}

// travelling returns what a side of a join keeps at which devices meet. Values that are read late travel
// as well: to fetch them by row id, a device would need whole columns of rows that others have
// uploaded. Row ids travel only where values are fetched by them in any case.
func travelling(x *device.Exchange, k device.Keep) device.Keep {
	out := device.Keep{Columns: slices.Concat(k.Columns, k.Late)}
	for _, input := range k.Inputs {
		if side := x.Side(input); side >= 0 && x.Fetches(side) {
			out.Inputs = append(out.Inputs, input)
		}
	}
	return out
}

// exchangedBy names the algorithm of a join whose rows were exchanged. That stands before what else
// the join did, because reports clip long names.
func exchangedBy(algorithm string) string {
	name, more, ok := strings.Cut(algorithm, "+")
	if ok {
		more = "+" + more
	}
	return name + "+exchange" + more
}

// movedColumn is a column of a side, as devices compare it: all rows of a side have to look alike.
type movedColumn struct {
	kind   rowid.PayloadKind
	column joincore.ColumnRef
	bytes  int
}

// checkAlike returns an error if the payload of a side differs between devices.
func checkAlike(payload [][]movedColumn) error {
	for i, p := range payload {
		if !slices.Equal(p, payload[0]) {
			return fmt.Errorf("devices 0 and %d of %d exchange different columns, %v and %v: %w", i, len(payload), payload[0], p, joincore.ErrUnsupported)
		}
	}
	return nil
}

// checkNumbers returns an error if rows of a side take their ids to other devices and are more than ids
// tell apart.
func checkNumbers(x *device.Exchange) error {
	for side, r := range x.Rows {
		if rows := r.Rows(); x.Numbers(side) && rows >= kernels.MaxRows {
			return fmt.Errorf("the values of %d rows of input %d would be fetched by row id, at most %d can be: %w", rows, x.Inputs[side], kernels.MaxRows-1, joincore.ErrUnsupported)
		}
	}
	return nil
}

// fetchedBytes returns what columns take that each device reads whole, because it fetches values by row
// id after the join.
func fetchedBytes(x *device.Exchange) (bytes int64) {
	for side, list := range x.ByID {
		if !x.Numbers(side) {
			continue
		}
		r := x.Rows[side]
		for _, j := range list {
			c := r.Columns[j]
			bytes += r.Rows() * int64(c.Width+1)
			if c.Kind == joincore.Fixed {
				continue
			}
			bytes += r.Rows() * textBytes
			for i := range r.Segments {
				bytes += int64(len(r.Segments[i].Columns[j].Heap))
			}
		}
	}
	return bytes
}

// textBytes is what a device has of a text in addition to its bytes: where they are, and an offset.
const textBytes = 16 + 4

// spareRows is by how much more than its share of rows a device may get: keys are not spread evenly.
const spareRows = 1.0 / 8

// checkTeamMemory returns an error if one of several devices has too little memory for its share of
// a join whose rows are exchanged, of the given bytes. If rows pass through the memory of the host, it also
// has those that it sends in its own.
func checkTeamMemory(x *device.Exchange, members int, memory int64, staged bool) error {
	n := float64(members)
	in, rows, width := 0.0, 0.0, int64(0)
	for side, r := range x.Rows {
		share := float64(r.Rows()) / n
		if (1+spareRows)*share >= kernels.MaxRows {
			return fmt.Errorf("a device of %d gets more rows than it can number: %w", members, joincore.ErrUnsupported)
		}
		width += x.RowBytes(side)
		in, rows = in+share*float64(x.RowBytes(side)), rows+share
	}
	out := float64(x.Result) / n * float64(width)
	if in+out >= 1<<50 {
		return fmt.Errorf("the rows of a join exceed the memory of %d devices: %w", members, joincore.ErrBudget)
	}
	need := columnar.Bound(int64(in), int64(rows), int64(out)) + wholeBytes(x.Whole...) + fetchedBytes(x)
	if staged {
		need += int64(in * (n - 1) / n)
	}
	if need > memory {
		return fmt.Errorf("each of %d devices needs %d MB to exchange the rows of the join, and has %d: %w", members, need>>20, memory>>20, joincore.ErrBudget)
	}
	return nil
}

// checkSpreadMemory returns an error if one of several devices has too little memory for its share of
// a build side and of the table of all of them, of the given bytes.
func checkSpreadMemory(x *device.Exchange, members int, memory int64) error {
	if members > columnar.MaxSpread {
		return fmt.Errorf("%d devices make no table together, at most %d do: %w", members, columnar.MaxSpread, joincore.ErrUnsupported)
	}
	rows := x.Rows[x.Build].Rows()
	share := (rows + int64(members) - 1) / int64(members)
	if columnar.TableBytes(rows) == 0 {
		return fmt.Errorf("a table has no place for %d build rows: %w", rows, joincore.ErrUnsupported)
	}
	// A quarter of what the columns leave is for probes.
	need := share*x.RowBytes(x.Build) + share*columnar.SpreadLeast/3*4 + wholeBytes(x.Whole...) + fetchedBytes(x)
	if need > memory {
		return fmt.Errorf("each of %d devices needs %d MB for its part of the build side and of the table, and has %d: %w", members, need>>20, memory>>20, joincore.ErrBudget)
	}
	return nil
}

// leastHybrid is the part of a device's memory that has to be left beside columns and links for a hybrid table: for
// units that are made there, and for probes.
const leastHybrid = 8

// checkHybridMemory returns an error if one of several devices, or one alone, has too little memory for its share of a
// build side, of the given bytes, or the host for what the devices leave of the table.
func checkHybridMemory(x *device.Exchange, members int, memory, host int64) error {
	if members > columnar.MaxSpread {
		return fmt.Errorf("%d devices make no table together, at most %d do: %w", members, columnar.MaxSpread, joincore.ErrUnsupported)
	}
	rows := x.Rows[x.Build].Rows()
	if columnar.TableBytes(rows) == 0 {
		return fmt.Errorf("a table has no place for %d build rows: %w", rows, joincore.ErrUnsupported)
	}
	share := (rows + int64(members) - 1) / int64(members)
	columns := share*x.RowBytes(x.Build) + wholeBytes(x.Whole...) + fetchedBytes(x)
	links := share * (columnar.SpreadLeast - columnar.SlotsLeast)
	spare := probeBytes(x)
	if need := columns + max(links/3*4, links+spare) + memory/leastHybrid; need > memory {
		return fmt.Errorf("a device of %d needs %d MB for its part of the build side and for windows of the probe side, and has %d: %w", members, need>>20, memory>>20, joincore.ErrBudget)
	}
	if rest := int64(members) * (share*columnar.SlotsLeast - (columnar.TableSpace(memory-columns, spare) - links)); rest > host {
		return fmt.Errorf("%d MB of a table of %d rows have to be on the host, and the host may lock %d: %w", rest>>20, rows, host>>20, joincore.ErrBudget)
	}
	return nil
}

// ringSlots is how many windows have memory on the device: one is joined while the next
// ones are uploaded, so that the link is busy while a result goes back.
const ringSlots = 3

// probeBytes returns what a device needs to probe a table: windows of the probe side, which have whole segments, and
// as much again for results.
func probeBytes(x *device.Exchange) int64 {
	probe, rows := 1-x.Build, 0
	for _, s := range x.Rows[probe].Segments {
		rows = max(rows, s.Rows)
	}
	return 2 * ringSlots * int64(rows) * x.RowBytes(probe)
}

// wholeBytes returns what inputs take on a device that reads them whole, as build sides: their
// columns, and the partitions of their keys.
func wholeBytes(builds ...*joincore.Relation) (bytes int64) {
	for _, build := range builds {
		width := int64(outofcore.PartitionBytes)
		for _, c := range build.Columns {
			if c.Kind == joincore.Fixed {
				width += int64(c.Width)
			}
		}
		bytes += width * build.Rows()
	}
	return bytes
}
