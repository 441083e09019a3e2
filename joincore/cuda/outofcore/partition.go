package outofcore

import (
	"encoding/binary"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/device"
)

// partition returns the row ids of an input grouped by the hash partition of
// their key, so that rows with equal keys of either side are in the same
// partition. Rows with a NULL in their key are in the first one. list must have
// capacity for all rows.
//
// Segments are counted first; then each writes its rows to their partitions.
// Both passes read only key columns.
func partition(h *hostinput.Input, key *device.Key, radix int, list []uint32) (parts [][]uint32, err error) {
	counts, err := countRows(h, key, radix)
	if err != nil {
		return nil, err
	}
	return placeRows(h, key, radix, counts, list)
}

// countRows returns the rows of each partition, by segment.
func countRows(h *hostinput.Input, key *device.Key, radix int) ([][]int, error) {
	counts := make([][]int, len(h.Relation.Segments))
	err := hostinput.Each(len(counts), runtime.NumCPU(), func(i int) {
		counts[i] = make([]int, 1<<radix)
		hashes(h, key, i, radix, func(_ int64, p int) { counts[i][p]++ })
	})
	return counts, err
}

// placeRows writes the rows of each partition to list. It returns ErrChanged if they are
// not as many as were counted: a feeder has changed a key since.
func placeRows(h *hostinput.Input, key *device.Key, radix int, counts [][]int, list []uint32) (parts [][]uint32, err error) {
	free := make([][][]uint32, len(counts)) // what is left of each segment's places, by partition
	for i := range counts {
		free[i] = make([][]uint32, 1<<radix)
	}
	at := 0
	for p := range 1 << radix {
		first := at
		for i := range counts {
			free[i][p] = list[at:][:counts[i][p]]
			at += counts[i][p]
		}
		parts = append(parts, list[first:at])
	}
	var changed atomic.Bool
	err = hostinput.Each(len(counts), runtime.NumCPU(), func(i int) {
		left := free[i]
		hashes(h, key, i, radix, func(row int64, p int) {
			if len(left[p]) == 0 {
				changed.Store(true)
				return
			}
			left[p][0] = uint32(row)
			left[p] = left[p][1:]
		})
	})
	if err == nil && changed.Load() {
		err = joincore.ErrChanged
	}
	return parts, err
}

// hashBlock is the number of rows that are hashed at a time, column by column.
const hashBlock = 1 << 10

// hashes visits the rows of a segment with their partitions.
func hashes(h *hostinput.Input, key *device.Key, segment, radix int, visit func(row int64, partition int)) {
	first := h.Starts[segment]
	hashBlocks(h, key, segment, func(low int, hash []uint64) {
		for i, x := range hash {
			visit(first+int64(low+i), partitionOf(x, radix))
		}
	})
}

// partitionOf returns the partition that kernels/agent/divide.cuh assigns to a
// hash.
func partitionOf(hash uint64, radix int) int { return int(finish(hash) >> (64 - radix)) }

// hashBlocks visits the unfinished hashes of a segment's keys, block by block.
func hashBlocks(h *hostinput.Input, key *device.Key, segment int, visit func(low int, hash []uint64)) {
	s := &h.Relation.Segments[segment]
	var hash [hashBlock]uint64
	for low := 0; low < s.Rows; low += hashBlock {
		n := min(hashBlock, s.Rows-low)
		for i := range n {
			hash[i] = divideSeed(h)
		}
		for _, p := range key.Parts {
			fold(hash[:n], &s.Columns[p.Column.Column], low, h.Relation.Columns[p.Column.Column].Width)
		}
		for _, p := range key.Parts {
			clearNulls(hash[:n], s.Columns[p.Column.Column].Validity, low)
		}
		visit(low, hash[:n])
	}
}

// divideSeed returns a seed that makes this hash independent of those of joins.
func divideSeed(h *hostinput.Input) uint64 { return h.Seed ^ 0x5bd1e9955bd1e995 }

// finish is the finaliser of kernels/block/hash.cuh. That of 0 is 0.
func finish(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// fold mixes values of a column, from row low on, into hashes. The hash of a
// value of up to 8 bytes does not depend on its width.
func fold(hash []uint64, v *joincore.Vector, low, width int) {
	values := v.Values[low*width : (low+len(hash))*width]
	switch width {
	case 1:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(int8(values[i])))
		}
	case 2:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(int16(binary.LittleEndian.Uint16(values[2*i:]))))
		}
	case 4:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(int32(binary.LittleEndian.Uint32(values[4*i:]))))
		}
	case 8:
		for i := range hash {
			hash[i] = mix(hash[i], binary.LittleEndian.Uint64(values[8*i:8*i+8]))
		}
	default:
		for i := range hash {
			for w := 0; w < width; w += 8 {
				hash[i] = mix(hash[i], binary.LittleEndian.Uint64(values[i*width+w:]))
			}
			hash[i] = mix(hash[i], uint64(width))
		}
	}
}

// mix is the fold of kernels/agent/keys.cuh.
func mix(hash, word uint64) uint64 {
	high, low := bits.Mul64(hash^word^0x9e3779b97f4a7c15, 0xd1342543de82ef95)
	return low ^ high ^ hash>>19
}

// clearNulls sets the hashes of NULLs, from row low on, to one of the first
// partition.
func clearNulls(hash []uint64, validity []byte, low int) {
	if validity == nil {
		return
	}
	for i := range hash {
		if row := low + i; validity[row/8]>>(row%8)&1 == 0 {
			hash[i] = 0
		}
	}
}

// frame is the range of 2^32 numbers in which the values of an 8-byte column lie, if it has
// one: partitioned windows then store 4-byte differences from its base, which halves what
// crosses the link. The first window chooses it, with its own values in the middle; a later
// window whose values lie elsewhere is stored as it is.
type frame struct {
	base  uint64
	state frameState
}

type frameState uint8

const (
	unknown frameState = iota
	narrow             // windows within the range of the base are stored in 4 bytes
	wide               // no window is
)

// widestFrame is the largest difference between two values of the first window: others may
// spread further.
const widestFrame = 1 << 28

// holds chooses the frame if there is none yet, and reports whether a window's values, all from
// least to greatest, lie in it.
func (f *frame) holds(least, greatest int64) bool {
	if least > greatest {
		return false
	}
	spread := uint64(greatest) - uint64(least)
	if f.state == unknown {
		f.state = wide
		if spread <= widestFrame {
			f.state, f.base = narrow, uint64(least)-(math.MaxUint32-spread)/2
		}
	}
	// Modulo 2^64, so that a frame may extend beyond the least and the greatest number.
	return f.state == narrow && spread <= math.MaxUint32 && uint64(least)-f.base <= math.MaxUint32-spread
}
