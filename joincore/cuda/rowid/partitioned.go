package rowid

// scatterPlan says into how many partitions the rows of a launch are scattered, and for
// how many rows each has space. Without partitions it is empty.
type scatterPlan struct {
	partitions, capacity int64
	groups               int64 // that a partition is expected to have
}

const (
	// leastScattered bounds the rows that are worth scattering, rowsPerGroup those of a
	// group: fewer add to the table where it is in about the same time.
	leastScattered, rowsPerGroup = 1 << 20, 4
	// There are several partitions for each multiprocessor, and few enough that a block
	// has counters for all.
	leastPartitions, mostPartitions = 1 << 10, 1 << 13
	countsApart                     = 8 // GJ_COUNTS_APART
)

// planScatter plans a launch of rows, of which the given fraction may have a group.
// held is how many groups a block's table holds, free the memory. Rows are only
// scattered if the groups' table exceeds the L2 cache: adding to it there is faster.
func planScatter(rows, groups int64, passed float64, held, slotBytes, cache, free int64) scatterPlan {
	if nextPower(2*groups)*slotBytes <= cache || groups <= held || held < 64 || rows < leastScattered || float64(rows)*passed < float64(rowsPerGroup*groups) {
		return scatterPlan{}
	}
	partitions := max(nextPower((groups*5/4+held-1)/held), leastPartitions)
	// The fraction is a lower bound: rows of the same group look like one.
	capacity := int64(float64(rows)*min(1.6*passed, 1)/float64(partitions)*9/8) + 256
	p := scatterPlan{partitions: partitions, capacity: capacity, groups: groups/partitions + 1}
	if partitions > mostPartitions || p.bytes() > free/2 {
		return scatterPlan{}
	}
	return p
}

// bytes returns the device memory of the partitions.
func (p *scatterPlan) bytes() int64 { return 4 * p.partitions * (p.capacity + countsApart) }
