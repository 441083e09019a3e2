package rowid

import (
	"math/bits"

	"gpujoin/joincore/device"
)

const (
	// A partition starts at a multiple of so many rows (kernels/agent/offsets.cuh).
	finalAlign, firstAlign = 8, 32
	// maxPassBits are the radix bits of one pass at most.
	maxPassBits = 8
	// defaultRegion is how many result rows are handed out at once at most,
	// smallestRegion the least that the match gets on with.
	defaultRegion, smallestRegion = 1 << 25, 1 << 10
)

// keyWords returns how many words of 4 bytes a normalised key has.
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

// radixBits returns the bits of the two passes that make partitions of a build
// side which fill a chunk to about three quarters. wanted > 0 decides how many
// bits there are in all. fan is the most partitions of a first pass. Few rows
// are not partitioned: going through the probe rows twice costs less than
// moving them.
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

// rangeRows returns how many probe rows a work item has: enough to make up for
// the item's table, few enough that every block gets several items.
func rangeRows(probe int64, blocks int) int64 {
	return min(max(probe/int64(4*blocks), 1<<10), 1<<15) / 32 * 32
}

// workItems bounds how many items a match has.
func workItems(build, probe int64, partitions int, chunk, rangeRows int64) int64 {
	return int64(partitions) + (build/chunk+1)*(probe/rangeRows+1)
}

// bufferRows returns the capacity of a row buffer of partitions that start at
// multiples of align.
func bufferRows(rows int64, partitions, align int) int64 {
	return (rows + int64(partitions)*int64(align) + 31) / 32 * 32
}

// regionRows returns the rows of a result region, given the memory that is free
// and the most rows that are asked for at once: 0 leaves that to the device.
// Most of the memory is left to whoever takes the rows.
func regionRows(wanted, free int64) int64 {
	if wanted <= 0 {
		wanted = defaultRegion
	}
	return max(min(wanted, free/4/8), smallestRegion) / 32 * 32
}

// flagsOf returns what the match does with a pair, by kind of join.
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
