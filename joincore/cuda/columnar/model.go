package columnar

import "gpujoin/joincore/costmodel"

// Names of the phases that algorithms report. The model predicts most of them by the
// same name; package selector says with which predicted phase the others go.
const (
	PhaseRange     = "range"   // of the build keys
	PhaseSummary   = "summary" // of a sample
	PhaseHistogram = costmodel.PhaseHistogram
	PhaseOffsets   = "offsets"
	PhaseFilter    = costmodel.PhaseFilter
	PhaseReduction = "reduction" // of the probe side by a filter
	PhaseBypass    = costmodel.PhaseBypass
	PhaseMatch     = costmodel.PhaseMatch
	PhaseClose     = "close" // the result's last rows move together
	PhaseReadBack  = "read back"
	PhaseTransfer  = "transfer" // the join waits for payload that is being uploaded
	PhaseSort      = costmodel.PhaseSort
	PhaseColumns   = "columns" // sorted one at a time
	PhaseMerge     = costmodel.PhaseMerge
	PhaseBuild     = costmodel.PhaseBuild
	PhaseProbe     = costmodel.PhaseProbe
	PhaseGather    = costmodel.PhaseGather
)

// Names of the phases of partitioning: build, probe.
var (
	PhaseFirstPass  = [2]string{"first pass, build", "first pass, probe"}
	PhaseSecondPass = [2]string{"second pass, build", "second pass, probe"}
)

// Bound returns the most device memory, in bytes, that a join may use for inputs of
// `in` bytes and `rows` rows together, and a result of `out` bytes: a pass needs as
// much again as it reads, and the result replaces the buffers between the passes. 4
// bytes a row are for row ids or positions; 5 % and 1 MiB for data outside of columns:
// histograms, work items, descriptors.
func Bound(in, rows, out int64) int64 {
	return (in+max(2*in, in+out)+4*rows)/20*21 + 1<<20
}

// Total returns the bytes of values of all the given widths.
func Total(widths []int) (bytes int) {
	for _, w := range widths {
		bytes += w
	}
	return bytes
}

// The bytes that one random access moves between memory and the cache if it misses.
// A read moves two sectors of 32 bytes (ncu counts 61.5 bytes per 4-byte value out of
// 512 MiB on an H200); a written sector is written back alone.
const (
	ReadAtRandom    = 64
	WrittenAtRandom = 32
)

// random models the bytes moved by n random accesses of `unit` bytes within `of`
// bytes and with a cache of `cache` bytes: cached data moves once.
func random(n, unit, of, cache int64) int64 {
	held := min(of, cache)
	if of == 0 || n == 0 {
		return 0
	}
	far := float64(of-held) / float64(of)
	return min(n*unit, held+int64(far*float64(n*unit)))
}
