package selector

import (
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
)

// maxPayload is the maximum number of a side's columns for smj and npj.
const maxPayload = 16

// Describe completes the description of a join with what the algorithms support.
// outputRows is the expected size of the result; free is the device memory, in bytes,
// that the join may use in addition to its inputs, 0: any.
func Describe(j costmodel.Resident, outputRows, free int64) costmodel.Resident {
	j.Shape = phj.Shape(j, outputRows)
	if len(j.Payload[0]) > maxPayload || len(j.Payload[1]) > maxPayload {
		return j
	}
	width := func(i int) int64 {
		n := int64(j.KeyBytes)
		for _, w := range j.Payload[i] {
			n += int64(w)
		}
		return n
	}
	const number = 4
	build, probe := j.Rows[0], j.Rows[1]
	out := outputRows * (width(0) + width(1) - int64(j.KeyBytes) + number)
	fits := func(need int64) bool { return free == 0 || need <= free }
	if need := columnar.TableBytes(build) + build*number + out; fits(need) {
		j.TableBytes = columnar.TableBytes(build)
	}
	sorted := build*width(0) + probe*width(1)
	if fits(sorted + max(sorted, out)) {
		j.SortPasses = columnar.SortPasses(build)
	}
	return j
}
