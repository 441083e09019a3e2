package columnar

// Bound returns the most device memory, in bytes, that a join may use for inputs of
// `in` bytes and a result of `out` bytes: a pass needs as much again as it reads, and
// the result replaces the buffers between the passes. 5 % and 1 MiB are for data
// outside of columns: histograms, work items, descriptors.
// histograms, lists of work, descriptors.
func Bound(in, out int64) int64 {
	return (in+max(2*in, in+out))/20*21 + 1<<20
}
