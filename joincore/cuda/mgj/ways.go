//go:build cuda

package mgj

import (
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
)

// way returns how rows get to the GPUs that join them.
func (j *join) way() phj.Way {
	switch {
	case j.group.through != nil:
		return phj.Stage
	case j.options.Way == WayCopy, j.options.Way == WayFastest && (j.copiesPay() || j.mayPack()):
		return phj.Copy
	}
	return phj.Store
}

// mayPack reports whether compression of rows may pay.
func (j *join) mayPack() bool { return j.packer.tries(j.sent(0) + j.sent(1)) }

// copiesPay reports whether the join's strategy copies rows faster than it stores them.
func (j *join) copiesPay() bool {
	p := &j.parts[0]
	columns := p.RowIDs || phj.SendsColumns(p.Build.Key.Bytes, [2][]int{columnar.Widths(p.Build.Payload), columnar.Widths(p.Probe.Payload)})
	return j.options.Strategy.copiesPay(len(j.parts), [2]int64{j.sent(0), j.sent(1)}, columns, j.group.copies)
}

// ranges returns the ranges of both sides: several where rows of one are partitioned while
// the next one is sent.
func (j *join) ranges() (list [2]phj.Ranges) {
	list = [2]phj.Ranges{phj.Even(1), phj.Even(1)}
	if j.options.Strategy == Exchange && !j.options.NoOverlap {
		list = exchangeRanges(len(j.parts), j.cut.Way)
		for side := range list {
			if most := int(max(1, j.sent(side)/leastRange)); most < list[side].Count() {
				list[side] = phj.Even(most)
			}
		}
	}
	for side, asked := range j.options.Ranges {
		if asked.Count() > 0 {
			list[side] = asked
		}
	}
	return list
}

// sent returns about how many bytes of a side a GPU sends to others in an exchange.
func (j *join) sent(side int) int64 {
	n := int64(len(j.parts))
	row := [2]*columnar.Side{&j.parts[0].Build, &j.parts[0].Probe}[side].RowBytes()
	return j.cut.Rows[side] * int64(row) / n * (n - 1) / n
}

// leastRange is how many bytes a GPU sends to others in a range, at least: a further range
// costs the host 30 µs, and hides part of a pass over as many rows.
const leastRange = 24 << 20

// exchangeRanges returns the ranges of both sides in an exchange. What the host does for a range
// takes longer for many GPUs, and for rows in blocks.
func exchangeRanges(gpus int, way phj.Way) [2]phj.Ranges {
	switch {
	case gpus > 8 || way == phj.Stage || way == phj.Copy && gpus > 4:
		return [2]phj.Ranges{phj.Even(1), phj.Even(3)}
	case way == phj.Copy:
		return copied
	}
	return [2]phj.Ranges{phj.Even(2), phj.Even(5)}
}

// copied are ranges of rows that are copied: links begin when the first one has been
// partitioned, and the match when the last one has arrived and been partitioned again.
var copied = [2]phj.Ranges{{1, 2}, {2, 3, 2, 1}}

// sending returns how many blocks send a flow to other GPUs; 0: as many as a GPU holds, which
// do not wait for links. While the first flow is sent, there is nothing to partition.
func (j *join) sending(flow int) int {
	sms := j.group.members[0].Device.Info().SMs
	switch {
	case j.options.Blocks > 0:
		return j.options.Blocks
	case j.cut.Way == phj.Copy, j.options.NoOverlap:
		return 0
	case flow == 0:
		return sms * 3 / 4
	}
	return sms * 3 / 5
}
