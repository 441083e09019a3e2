package columnar

// Bound returns the most device memory, in bytes, that a join may use for inputs of
// `in` bytes and `rows` rows together, and a result of `out` bytes: a pass needs as
// much again as it reads, and the result replaces the buffers between the passes. 4
// bytes a row are for row ids or positions; 5 % and 1 MiB for data outside of columns:
// histograms, work items, descriptors.
func Bound(in, rows, out int64) int64 {
	return (in+max(2*in, in+out)+4*rows)/20*21 + 1<<20
}
