package columnar

// Bound returns how much device memory a join may use at most, its inputs
// included, where these have `in` bytes and its result has `out`: a pass needs
// as much again as it reads, and the result takes the place of the buffers
// between the passes. 5 % and 1 MiB are for what does not lie in columns:
// histograms, lists of work, descriptors.
func Bound(in, out int64) int64 {
	return (in+max(2*in, in+out))/20*21 + 1<<20
}
