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

// hashes visits the rows of a segment with their partitions.
func (h *hostInput) hashes(key *device.Key, segment, radix int, visit func(row int64, partition int)) {
	readers := make([]reader, len(key.Parts))
	for i, p := range key.Parts {
		readers[i] = h.reader(p.Column.Column)
	}
	for row := h.starts[segment]; row < h.starts[segment+1]; row++ {
		hash, null := uint64(0), false
		for i := range readers {
			value := readers[i].fixed(row)
			null = null || value == nil
			hash = fold(hash, value, key.Parts[i].Class)
		}
		if null {
			hash = 0
		}
		visit(row, int(hash>>(64-radix)))
	}
}

// fold mixes a value into a hash. Integers are the same whatever their width.
func fold(hash uint64, value []byte, class joincore.KeyClass) uint64 {
	for first := true; first || len(value) > 0; first = false {
		word, rest := wordOf(value, class)
		value = rest
		high, low := bits.Mul64(hash^word^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
		hash = high ^ low
	}
	return hash
}

// wordOf takes the next word of a value.
func wordOf(value []byte, class joincore.KeyClass) (word uint64, rest []byte) {
	signed := class == joincore.KeyInt
	switch n := len(value); {
	case n >= 8:
		return binary.LittleEndian.Uint64(value), value[8:]
	case n == 4 && signed:
		return uint64(int32(binary.LittleEndian.Uint32(value))), nil
	case n == 2 && signed:
		return uint64(int16(binary.LittleEndian.Uint16(value))), nil
	case n == 1 && signed:
		return uint64(int8(value[0])), nil
	}
	for i, b := range value {
		word |= uint64(b) << (8 * i)
	}
	return word, nil
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
