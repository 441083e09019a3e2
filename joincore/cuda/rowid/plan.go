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
