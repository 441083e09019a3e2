//go:build cuda

package rowid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// bed is a side to be partitioned with its keys on the host.
type bed struct {
	*rig
	side  Side
	key   *device.Key
	words int      // of a key
	keys  []string // by row; "": NULL
}

func (r *rig) bed(rows int64, width int, hot bool) *bed {
	described := fixed(width)
	s := &testSide{rows: rows, columns: []testColumn{{described: described, values: make([][]byte, rows)}}}
	b := &bed{rig: r, words: width / 4, keys: make([]string, rows)}
	for i := range b.keys {
		if r.rand.IntN(20) == 0 {
			continue // NULL
		}
		x := r.rand.Int64()
		if hot && i%3 > 0 {
			x = 77
		}
		s.columns[0].values[i] = valueOf(described, joincore.KeyInt, x)
		b.keys[i] = string(s.columns[0].values[i])
	}
	b.side = r.upload(0, s)
	b.key, _ = device.Keys([]joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}}, func(joincore.ColumnRef) joincore.Column { return described })
	return b
}

// sizes returns the rows of each partition, by partitioning.
func (b *bed) sizes(bits int) []int64 {
	var rows []int64
	b.scoped(func() {
		p, err := b.Partition(b.ctx, b.side, &PartitionSpec{Key: b.key, Options: Options{Bits: bits}})
		b.must(err)
		h, err := p.Histogram(b.ctx)
		b.must(err)
		rows, err = h.Wait(b.ctx)
		b.must(err)
		if p.Bits() != bits || len(rows) != 1<<bits {
			b.Fatalf("%d partitions by %d bits, want %d", len(rows), p.Bits(), bits)
		}
	})
	return rows
}

// apart takes exactly as much memory as each partition and lane needs, in any order.
func (b *bed) apart(rows []int64) []Destination {
	lanes := lanesOf(keyWords(b.key) + 1)
	to := make([]Destination, len(rows)*len(lanes))
	for _, i := range b.rand.Perm(len(to)) {
		n := rows[i/len(lanes)]
		to[i] = Destination{At: b.alloc(n*int64(lanes[i%len(lanes)]) + driver.Line), Rows: n}
	}
	return to
}

// lane reads a lane of a partition: the words of each row.
func (b *bed) lane(d Destination, bytes int, read func(driver.Ptr, int64) []uint32) [][]uint32 {
	words := read(d.At, d.Rows*int64(bytes/4))
	out := make([][]uint32, d.Rows)
	for i := range out {
		out[i] = words[i*bytes/4 : (i+1)*bytes/4]
	}
	return out
}

// check compares the rows at the destinations with the side: every row with a
// key occurs once, with its id, and equal keys are in one partition.
func (b *bed) check(to []Destination, first uint32, read func(driver.Ptr, int64) []uint32) {
	b.Helper()
	lanes, where := lanesOf(keyWords(b.key)+1), map[string]int{}
	var ids []uint32
	for p := range len(to) / len(lanes) {
		rows := make([][]uint32, to[p*len(lanes)].Rows)
		for l, bytes := range lanes {
			for i, w := range b.lane(to[p*len(lanes)+l], bytes, read) {
				rows[i] = append(rows[i], w...)
			}
		}
		for _, row := range rows {
			id, key := row[b.words], []byte(nil)
			for _, w := range row[:b.words] {
				key = binary.LittleEndian.AppendUint32(key, w)
			}
			if n := int64(id) - int64(first); n < 0 || n >= int64(len(b.keys)) || b.keys[n] != string(key) {
				b.Fatalf("partition %d has row id %#x with key %x", p, id, key)
			}
			if before, ok := where[string(key)]; ok && before != p {
				b.Fatalf("key %x is in partitions %d and %d", key, before, p)
			}
			where[string(key)] = p
			ids = append(ids, id-first)
		}
	}
	slices.Sort(ids)
	var want []uint32
	for i, key := range b.keys {
		if key != "" {
			want = append(want, uint32(i))
		}
	}
	if !slices.Equal(ids, want) {
		b.Fatalf("%d rows are in partitions, want %d", len(ids), len(want))
	}
}

func (r *rig) here(at driver.Ptr, words int64) []uint32 { return get[uint32](r, at, words) }

// Partitions go to separate allocations in any order, by one pass and by two;
// the memory behind these is unchanged.
func TestPartitionsGoWhereTheTableSays(t *testing.T) {
	r := newRig(t, 1<<30)
	for _, width := range []int{4, 8} {
		for _, rows := range sizes() {
			for _, bits := range []int{3, 9} {
				r.checkDestinations(rows, width, bits)
			}
		}
	}
}

// checkDestinations partitions keys of width bytes into a table of allocations.
func (r *rig) checkDestinations(rows int64, width, bits int) {
	r.Helper()
	ids := device.NewRowIDs(8)
	r.scoped(func() {
		b := r.bed(rows, width, bits == 3)
		to := b.apart(b.sizes(bits))
		p, err := r.Partition(r.ctx, b.side, &PartitionSpec{Key: b.key, To: to, IDs: ids, Device: 5, Options: Options{Bits: bits}})
		r.must(err)
		r.must(p.Fits(r.ctx))
		b.check(to, ids.First(5), r.here)
		for i, d := range to {
			end := d.At + driver.Ptr(d.Rows*int64(lanesOf(keyWords(b.key) + 1)[i%len(lanesOf(keyWords(b.key)+1))]))
			if behind := get[uint32](r, (end+3)&^3, 8); slices.ContainsFunc(behind, func(w uint32) bool { return w != 0xa5a5a5a5 }) {
				r.Fatalf("%d rows, %d bits: written behind a destination: %x", rows, bits, behind)
			}
		}
	})
}

// If a partition does not fit, the error names it and the missing rows, nothing is
// written, and the queue remains usable.
func TestPartitionsThatLackRoom(t *testing.T) {
	r := newRig(t, 1<<28)
	for _, width := range []int{4, 8} {
		for _, bits := range []int{3, 9} {
			r.scoped(func() {
				b := r.bed(20_000, width, false)
				rows := b.sizes(bits)
				to := b.apart(rows)
				lanes, lacks := len(lanesOf(keyWords(b.key)+1)), 2
				to[lacks*lanes+lanes-1].Rows -= 7
				to[len(to)-1].Rows--
				p, err := r.Partition(r.ctx, b.side, &PartitionSpec{Key: b.key, To: to, Options: Options{Bits: bits}})
				r.must(err)
				for range 2 { // the error is the same each time
					var lack *NoRoomError
					if err := p.Fits(r.ctx); !errors.As(err, &lack) || *lack != (NoRoomError{Partition: lacks, Missing: 7}) || !errors.Is(err, joincore.ErrBudget) {
						t.Fatalf("partition %d lacks 7 rows: %v", lacks, err)
					}
				}
				for i, d := range to {
					if got := get[uint32](r, d.At, d.Rows); slices.ContainsFunc(got, func(w uint32) bool { return w != 0xa5a5a5a5 }) {
						t.Fatalf("destination %d was written", i)
					}
				}
				to[lacks*lanes+lanes-1].Rows += 7
				to[len(to)-1].Rows++
				p, err = r.Partition(r.ctx, b.side, &PartitionSpec{Key: b.key, To: to, Options: Options{Bits: bits}})
				r.must(err)
				r.must(p.Fits(r.ctx))
				b.check(to, 0, r.here)
			})
		}
	}
}

// The kernels have the lanes for which tables are made.
func TestLanesAreThoseOfTheKernels(t *testing.T) {
	r := newRig(t, 1<<20)
	for words := 1; words <= 2; words++ {
		k, err := r.kernels.module.Kernel(fmt.Sprintf("gj_own_destinations_k%d", words))
		r.must(err)
		if lanes := (radix{words: words}).lanes(); lanes != k.Fan {
			t.Errorf("a key of %d words: %d lanes, the kernel has %d", words, lanes, k.Fan)
		}
	}
}

func TestDestinationsAreChecked(t *testing.T) {
	r := newRig(t, 64<<20)
	b := r.bed(100, 4, false)
	good := b.apart(b.sizes(2))
	change := func(d Destination) []Destination { return append(slices.Clone(good[1:]), d) }
	for _, c := range []struct {
		spec PartitionSpec
		want error
	}{
		{PartitionSpec{To: good[1:], Options: Options{Bits: 2}}, joincore.ErrInvalid},
		{PartitionSpec{To: change(Destination{At: good[0].At + 8, Rows: 1}), Options: Options{Bits: 2}}, joincore.ErrInvalid},
		{PartitionSpec{To: change(Destination{At: good[0].At, Rows: -1}), Options: Options{Bits: 2}}, joincore.ErrInvalid},
		{PartitionSpec{To: change(Destination{Rows: 1}), Options: Options{Bits: 2}}, joincore.ErrInvalid},
		{PartitionSpec{To: good}, joincore.ErrInvalid}, // few rows are not partitioned by default
	} {
		c.spec.Key = b.key
		mark := r.arena.Mark()
		if _, err := r.Partition(r.ctx, b.side, &c.spec); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.spec.To, err)
		}
		if r.arena.Mark() != mark {
			t.Error("the arena was not given back")
		}
	}
}

// Histograms are futures: later steps are queued before they arrive, there may be more
// of them than slots, and they are awaited in any order.
func TestHistogramsAreFutures(t *testing.T) {
	r := newRig(t, 1<<28)
	var wants [][]int64
	var histograms []*Histogram
	for i := range 5 {
		b := r.bed(10_000+int64(i)*1000, 4, i%2 == 0)
		wants = append(wants, b.sizes(4+i))
		p, err := r.Partition(r.ctx, b.side, &PartitionSpec{Key: b.key, Options: Options{Bits: 4 + i}})
		r.must(err)
		h, err := p.Histogram(r.ctx)
		r.must(err)
		p.Release() // later steps take its memory
		histograms = append(histograms, h)
	}
	for _, i := range []int{4, 0, 3, 1, 2, 0} {
		got, err := histograms[i].Wait(r.ctx)
		r.must(err)
		if !slices.Equal(got, wants[i]) || histograms[i].Device() != r.context.Info().Ordinal {
			t.Errorf("histogram %d of device %d: %v, want %v", i, histograms[i].Device(), got, wants[i])
		}
	}
}

// Counts may be awaited late, with more of them than slots.
func TestCountsAreFutures(t *testing.T) {
	r := newRig(t, 64<<20)
	var counts []*Count
	for i := range 3 * numberSlots {
		at := put(r, []uint64{uint64(1000 + i)})
		c, err := r.count(r.ctx, at)
		r.must(err)
		r.must(r.stream.Memset(at, 0xff, 8)) // behind the copy
		counts = append(counts, c)
	}
	for _, i := range r.rand.Perm(len(counts)) {
		if n, err := counts[i].Wait(r.ctx); n != int64(1000+i) || err != nil {
			t.Errorf("count %d: %d, %v", i, n, err)
		}
	}
}

// peer returns memory of another device to which the rig's device writes.
func (r *rig) peer(bytes int64) *driver.Arena {
	devices, err := driver.Devices()
	r.must(err)
	if len(devices) < 2 {
		r.Skip("there is one device: no partition lies on another one")
	}
	other, err := driver.Open(1)
	r.must(err)
	r.Cleanup(func() { r.must(other.Close()) })
	if ok, err := r.context.Reaches(other); !ok || err != nil {
		r.Skipf("device 0 does not reach memory of device 1: %v", err)
	}
	far, err := other.NewArena(bytes, r.context)
	r.must(err)
	r.Cleanup(func() { r.must(far.Close()) })
	return far
}

// A pass writes every second partition to another device.
func TestPartitionsGoToAPeer(t *testing.T) {
	r := newRig(t, 1<<28)
	far := r.peer(1 << 26)
	for _, width := range []int{4, 8} {
		b := r.bed(100_000, width, false)
		rows := b.sizes(5)
		to, lanes := b.apart(rows), lanesOf(keyWords(b.key)+1)
		for i := range to {
			if i/len(lanes)%2 == 1 {
				at, err := far.Take(to[i].Rows * int64(lanes[i%len(lanes)]))
				r.must(err)
				to[i].At = at
			}
		}
		p, err := r.Partition(r.ctx, b.side, &PartitionSpec{Key: b.key, To: to, Options: Options{Bits: 5}})
		r.must(err)
		r.must(p.Fits(r.ctx))
		b.check(to, 0, r.here)
	}
}
