package rowid

import (
	"math/bits"

	"gpujoin/joincore/device"
)

const (
	// A partition starts at a multiple of this many rows (kernels/agent/offsets.cuh).
	finalAlign, firstAlign = 8, 32
	// maxPassBits is the maximum number of radix bits of a pass.
	maxPassBits = 8
	// defaultRegion is the default for the maximum number of result rows handed out at
	// once, smallestRegion the minimum with which the match works.
	defaultRegion, smallestRegion = 1 << 25, 1 << 10
)

// keyWords returns the 4-byte words of a normalised key.
func keyWords(key *device.Key) int {
	total := 0
	for _, p := range key.Parts {
		total += p.Bits
	}
	if key.Exact && total <= 32 {
		return 1
	}
	return 2
}

// radixBits returns the bits of the two passes, such that partitions of the build side
// fill a chunk to about three quarters. wanted > 0 sets their total instead. fan is the
// maximum number of partitions of the first pass. Few rows are not partitioned: reading
// the probe rows twice costs less than moving them.
func radixBits(rows int64, chunk, fan, wanted int) (first, second int) {
	total := wanted
	if total <= 0 {
		if rows <= 2*int64(chunk) {
			return 0, 0
		}
		total = bits.Len64(uint64(rows-1) / uint64(chunk*4/5))
	}
	most := min(bits.Len(uint(fan))-1, maxPassBits) // of the first pass
	total = min(max(total, 1), most+maxPassBits)
	if total <= most {
		return total, 0
	}
	first = min(total/2, most)
	return first, total - first
}

// rangeRows returns the probe rows of a work item: enough to amortise the
// construction of its table, few enough that every block gets several items.
func rangeRows(probe int64, blocks int) int64 {
	return min(max(probe/int64(4*blocks), 1<<10), 1<<15) / 32 * 32
}

// workItems bounds the number of a match's work items.
func workItems(build, probe int64, partitions int, chunk, rangeRows int64) int64 {
	return int64(partitions) + (build/chunk+1)*(probe/rangeRows+1)
}

// bufferRows returns the capacity, in rows, of a row buffer whose partitions start at
// multiples of align.
func bufferRows(rows int64, partitions, align int) int64 {
	return (rows + int64(partitions)*int64(align) + 31) / 32 * 32
}

// regionRows returns the rows of a result region for the free bytes and the wanted
// maximum of rows; 0: the default. It leaves most of the memory to the consumer of the
// rows.
func regionRows(wanted, free int64) int64 {
	if wanted <= 0 {
		wanted = defaultRegion
	}
	return max(min(wanted, free/4/8), smallestRegion) / 32 * 32
}

// flagsOf returns what the match does with a pair, by the kind of join.
func flagsOf(m *device.Match) uint64 {
	var flags uint64
	if m.Mark {
		flags |= markBuild
	}
	switch m.Emit {
	case device.Pairs:
		flags |= emitPairs
	case device.Outer:
		flags |= emitPairs | markProbe
	case device.Semi, device.Anti:
		flags |= markProbe
		if !m.Mark {
			flags |= firstOnly
		}
	}
	return flags
}

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

// PayloadKind is what is moved with the key of a row.
type PayloadKind uint8

const (
	PayloadValues   PayloadKind = iota // values of a column
	PayloadValidity                    // a byte a row: whether the column's value is there
	PayloadRowIDs                      // row ids of an input
)

// wordOf is a flag as kernels read it.
func wordOf(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// None is the position of a row that is not there: the NULL side of an outer
// join.
const None = ^uint32(0)

const (
	// firstRows and nextRows are those of the first two launches, which show how many
	// groups there are.
	firstRows, nextRows = 1 << 14, 1 << 22
)
