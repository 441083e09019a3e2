//go:build cuda

package rowid

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// bed is a build side to be partitioned with its keys on the host.
type bed struct {
	*rig
	Join
	text []string // of each row's key; "": NULL
}

func (r *rig) bed(rows int64, width, bits int, hot bool) *bed {
	described := fixed(width)
	s := &testSide{rows: rows, columns: []testColumn{{described: described, values: make([][]byte, rows)}}}
	b := &bed{rig: r, text: make([]string, rows)}
	for i := range b.text {
		if r.rand.IntN(20) == 0 {
			continue // NULL
		}
		x := r.rand.Int64()
		if hot && i%3 > 0 {
			x = 77
		}
		s.columns[0].values[i] = valueOf(described, joincore.KeyInt, x)
		b.text[i] = string(s.columns[0].values[i])
	}
	key, _ := device.Keys([]joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}}, func(joincore.ColumnRef) joincore.Column { return described })
	partitioned, err := r.radix(key, rows, bits)
	r.must(err)
	b.Join = Join{q: r.Queue, spec: &JoinSpec{Match: device.Match{Build: key}}, radix: partitioned, build: r.upload(0, s)}
	return b
}

// check compares the rows in the partitions with the side: every row with a key occurs once,
// with its id, and equal keys are in one partition.
func (b *bed) check() {
	b.Helper()
	words, where := b.Join.radix.words, map[string]int{}
	n := int64(b.Join.radix.partitions())
	counts := get[uint32](b.rig, driver.Ptr(b.keys.Counts), n)
	starts := get[uint32](b.rig, driver.Ptr(b.keys.Start), n)
	stripes := [][]uint32{} // of one, two and four words
	at := driver.Ptr(b.keys.Final)
	for _, width := range []int64{1, 2, 4} {
		if int64(words+1)&width != 0 {
			stripes = append(stripes, get[uint32](b.rig, at, width*int64(b.keys.FinalCapacity)))
			at += driver.Ptr(4 * width * int64(b.keys.FinalCapacity))
		}
	}
	var ids []uint32
	for p := range counts {
		for row := starts[p]; row < starts[p]+counts[p]; row++ {
			var all []uint32
			for _, stripe := range stripes {
				width := len(stripe) / int(b.keys.FinalCapacity)
				all = append(all, stripe[int(row)*width:][:width]...)
			}
			id, key := all[words], []byte(nil)
			for _, w := range all[:words] {
				key = binary.LittleEndian.AppendUint32(key, w)
			}
			if int(id) >= len(b.text) || b.text[id] != string(key) {
				b.Fatalf("partition %d has row id %#x with key %x", p, id, key)
			}
			if before, ok := where[string(key)]; ok && before != p {
				b.Fatalf("key %x is in partitions %d and %d", key, before, p)
			}
			where[string(key)] = p
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var want []uint32
	for i, key := range b.text {
		if key != "" {
			want = append(want, uint32(i))
		}
	}
	if !slices.Equal(ids, want) {
		b.Fatalf("%d rows are in partitions, want %d", len(ids), len(want))
	}
}

// Partitions by one pass and by two have every row with a key once, and equal keys together.
func TestPartitionsHaveEachRowOnce(t *testing.T) {
	r := newRig(t, 1<<30)
	for _, width := range []int{4, 8} {
		for _, rows := range sizes() {
			for _, bits := range []int{3, 9} {
				r.checkPartitions(rows, width, bits)
			}
		}
	}
}

// checkPartitions partitions keys of width bytes.
func (r *rig) checkPartitions(rows int64, width, bits int) {
	r.Helper()
	r.scoped(func() {
		b := r.bed(rows, width, bits, bits == 3)
		r.must(b.partitionBuild(r.ctx))
		b.check()
	})
}

// The kernels have the stripes for which tables are made.
func TestStripesAreThoseOfTheKernels(t *testing.T) {
	r := newRig(t, 1<<20)
	for words := 1; words <= 2; words++ {
		k, err := r.kernels.module.Kernel(fmt.Sprintf("gj_own_destinations_k%d", words))
		r.must(err)
		if stripes := (radix{words: words}).stripes(); stripes != k.Fan {
			t.Errorf("a key of %d words: %d stripes, the kernel has %d", words, stripes, k.Fan)
		}
	}
}

// BenchmarkPartition is what partitioning a build side costs. GB/s are modelled bytes,
// those of the histogram included.
func BenchmarkPartition(b *testing.B) {
	const rows = 1 << 27
	for _, width := range []int{4, 8} {
		for _, bits := range []int{7, 14} {
			b.Run(fmt.Sprintf("%dB-%dbits", width, bits), func(b *testing.B) {
				r := newRig(b, 12<<30)
				keys := r.alloc(int64(width) * rows)
				r.must(r.Number(0, 0, int64(width/4)*rows, keys)) // distinct ones; their hashes are what counts
				spec := keySpec(width, device.Pairs)
				spec.Bits = bits
				r.must(r.Sync(r.ctx))
				before := r.cost.Bytes
				for b.Loop() {
					j, err := r.Prepare(r.ctx, spec, keyOnly(0, keys, width, rows))
					r.must(err)
					r.must(r.Sync(r.ctx))
					j.Release()
				}
				b.SetBytes((r.cost.Bytes - before) / int64(b.N))
			})
		}
	}
}
