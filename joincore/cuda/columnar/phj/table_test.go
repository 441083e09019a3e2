//go:build cuda

package phj

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
)

// trial is a join whose result is compared with the host's.
type trial struct {
	rows     [2]int
	keys     int // maximum number of distinct keys on either side
	key      int // bytes
	widths   [2][]int
	options  Options
	rowIDs   bool
	noKey    bool
	room     int64   // rows of space for the result; 0: as many as it has
	hot      float64 // fraction of probe rows with one of three keys
	anywhere bool    // payload columns begin anywhere
	misled   bool    // no sampled row has a match, whatever the others have
}

func (c trial) String() string {
	return fmt.Sprintf("%v rows, %d keys of %d bytes, payload %v, %+v, row ids %v, no key %v, room %d, hot %v, anywhere %v, misled %v",
		c.rows, c.keys, c.key, c.widths, c.options, c.rowIDs, c.noKey, c.room, c.hot, c.anywhere, c.misled)
}

// table is a side in host memory: the key column, then payload columns.
type table struct {
	widths  []int
	columns [][]byte
}

func (s table) value(to []byte, column, i int) []byte {
	w := s.widths[column]
	return append(to, s.columns[column][i*w:(i+1)*w]...)
}

func (s table) payload(to []byte, i int) []byte {
	for c := 1; c < len(s.widths); c++ {
		to = s.value(to, c, i)
	}
	return to
}

// random makes a side. Its keys include 0, the largest key, and keys with equal low or
// high halves.
func random(r *rand.Rand, rows, keys, key int, widths []int, hot float64) table {
	s := table{widths: append([]int{key}, widths...)}
	for _, w := range s.widths {
		column := make([]byte, rows*w)
		for i := range column {
			column[i] = byte(r.Uint32())
		}
		s.columns = append(s.columns, column)
	}
	for i := range rows {
		k := r.Uint64N(uint64(keys))
		if r.Float64() < hot {
			k = 5 + r.Uint64N(3)
		}
		switch {
		case k == 1:
			k = ^uint64(0)
		case k%2 == 0:
			k = k<<32 | k>>1
		}
		var full [8]byte
		binary.LittleEndian.PutUint64(full[:], k)
		copy(s.columns[0][i*key:], full[:key])
	}
	return s
}

// unique gives each build row a key of its own, so that keys can be hot.
func unique(s table) {
	key := s.widths[0]
	for i := range len(s.columns[0]) / key {
		var full [8]byte
		binary.LittleEndian.PutUint64(full[:], uint64(2*i+3))
		copy(s.columns[0][i*key:], full[:key])
	}
}

// mislead removes the match of each row that the sample takes: SampleLookup in
// kernels/agent/sample.cuh chooses these by a hash with the seed.
func mislead(s table, seed uint64) {
	key, rows := s.widths[0], uint64(len(s.columns[0])/s.widths[0])
	for i := range uint64(sampleSlots) {
		x := uint32(i) ^ uint32(seed)
		x ^= x >> 16
		x *= 0x7feb352d
		x ^= x >> 15
		x *= 0x846ca68b
		x ^= x >> 16
		each := rows / sampleSlots
		at := i*each + uint64(x)*each>>32
		var full [8]byte
		binary.LittleEndian.PutUint64(full[:], 0x80000001|i<<1)
		copy(s.columns[0][at*uint64(key):], full[:key])
	}
}

// reference passes the rows of the join to each, in any order. A row is valid during
// the call.
func (c trial) reference(build, probe table, each func(row []byte)) {
	index := map[string][]int{}
	for i := range c.rows[0] {
		k := string(build.value(nil, 0, i))
		index[k] = append(index[k], i)
	}
	var key, row []byte
	for j := range c.rows[1] {
		key = probe.value(key[:0], 0, j)
		for _, i := range index[string(key)] {
			row = row[:0]
			if !c.noKey {
				row = append(row, key...)
			}
			if c.rowIDs {
				row = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(row, uint32(i)), uint32(j))
			} else {
				row = probe.payload(build.payload(row, i), j)
			}
			each(row)
		}
	}
}

// each passes all rows to f, as the bytes of their columns.
func (s table) each(rows int, f func(row []byte)) {
	var row []byte
	for i := range rows {
		row = row[:0]
		for c := range s.widths {
			row = s.value(row, c, i)
		}
		f(row)
	}
}

// bag compares multisets of rows by hashes, without keeping the rows.
type bag struct {
	seed maphash.Seed
	rows int64
	sum  uint64 // of the rows' hashes
}

func (b *bag) add(row []byte) {
	b.rows++
	b.sum += maphash.Bytes(b.seed, row)
}

// sorted collects rows in order.
func sorted(rows func(each func(row []byte))) (all []string) {
	rows(func(row []byte) { all = append(all, string(row)) })
	slices.Sort(all)
	return all
}

// difference describes the first row, in order, that differs.
func difference(got, want []string) string {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Sprintf("sorted row %d is %x in place of %x", i, got[i], want[i])
		}
	}
	return "other hashes of the same rows"
}
