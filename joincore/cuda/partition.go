package cuda

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// partition returns the rows of an input by partition of their key's hash, so
// that rows with equal keys of either side are in the same one. Rows with a
// NULL in their key are in the first. list has room for all rows.
//
// Segments are counted first, then each is written where its rows belong; both
// passes read nothing but key columns.
func (h *hostInput) partition(key *device.Key, radix int, list []uint32) (parts [][]uint32, err error) {
	segments := len(h.relation.Segments)
	counts := make([][]int, segments)
	err = eachSegment(segments, func(i int) {
		counts[i] = make([]int, 1<<radix)
		h.hashes(key, i, radix, func(_ int64, p int) { counts[i][p]++ })
	})
	if err != nil {
		return nil, err
	}
	at, starts := 0, make([]int, 1<<radix+1)
	for p := range 1 << radix {
		starts[p] = at
		for i := range counts {
			counts[i][p], at = at, at+counts[i][p]
		}
	}
	starts[1<<radix] = at
	err = eachSegment(segments, func(i int) {
		next := counts[i]
		h.hashes(key, i, radix, func(row int64, p int) {
			list[next[p]] = uint32(row)
			next[p]++
		})
	})
	for p := range 1 << radix {
		parts = append(parts, list[starts[p]:starts[p+1]])
	}
	return parts, err
}

// hashBlock is how many rows are hashed at a time, a column after the other.
const hashBlock = 1 << 10

// hashes visits the rows of a segment with their partitions.
func (h *hostInput) hashes(key *device.Key, segment, radix int, visit func(row int64, partition int)) {
	s := &h.relation.Segments[segment]
	var hash [hashBlock]uint64
	for low := 0; low < s.Rows; low += hashBlock {
		n := min(hashBlock, s.Rows-low)
		clear(hash[:n])
		for _, p := range key.Parts {
			fold(hash[:n], &s.Columns[p.Column.Column], low, h.relation.Columns[p.Column.Column].Width, p.Class == joincore.KeyInt)
		}
		for _, p := range key.Parts {
			clearNulls(hash[:n], s.Columns[p.Column.Column].Validity, low)
		}
		for i, x := range hash[:n] {
			visit(h.starts[segment]+int64(low+i), int(x>>(64-radix)))
		}
	}
}

// fold mixes values of a column, from row low on, into hashes. Integers are
// the same whatever their width.
func fold(hash []uint64, v *joincore.Vector, low, width int, signed bool) {
	values := v.Values[low*width : (low+len(hash))*width]
	switch {
	case width == 1 && signed:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(int8(values[i])))
		}
	case width == 1:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(values[i]))
		}
	case width == 2 && signed:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(int16(binary.LittleEndian.Uint16(values[2*i:]))))
		}
	case width == 2:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(binary.LittleEndian.Uint16(values[2*i:])))
		}
	case width == 4 && signed:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(int32(binary.LittleEndian.Uint32(values[4*i:]))))
		}
	case width == 4:
		for i := range hash {
			hash[i] = mix(hash[i], uint64(binary.LittleEndian.Uint32(values[4*i:])))
		}
	default:
		for i := range hash {
			for w := 0; w < width; w += 8 {
				hash[i] = mix(hash[i], binary.LittleEndian.Uint64(values[i*width+w:]))
			}
		}
	}
}

func mix(hash, word uint64) uint64 {
	high, low := bits.Mul64(hash^word^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	return high ^ low
}

// clearNulls makes the hashes of NULLs, from row low on, those of the first
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

// eachSegment does work on segments, with all cores.
func eachSegment(segments int, work func(i int)) error {
	var wait sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, min(runtime.NumCPU(), segments))
	for worker := range errs {
		wait.Go(func() {
			defer device.Recover(&errs[worker])
			device.PanicOnFault()
			for i := int(next.Add(1)) - 1; i < segments; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
