package costmodel

// MostPartitions returns the most partitions that a histogram counts in shared memory: that of a
// multiprocessor, in bytes, has an entry of the given bytes for each of them and for each of the
// blocks that are on it at a time (MG-Join, equation 1).
func MostPartitions(shared, entry, blocks int) int { return shared / (entry * blocks) }
