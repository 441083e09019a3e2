package outofcore

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/device"
)

// keyed makes an input of one key column of the given width, some of it NULL,
// and returns each row's key.
func keyed(t *testing.T, r *rand.Rand, width, rows int) (*hostinput.Input, []int64) {
	t.Helper()
	rel := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: width}}}
	var keys []int64
	for len(keys) < rows {
		n := min(rows-len(keys), 1+r.IntN(100))
		v := joincore.Vector{Values: make([]byte, n*width), Validity: make([]byte, (n+7)/8)}
		for i := range n {
			key := int64(r.IntN(200) - 100)
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], uint64(key))
			copy(v.Values[i*width:(i+1)*width], b[:])
			if key == 99 {
				key = null
			} else {
				v.Validity[i/8] |= 1 << (i % 8)
			}
			keys = append(keys, key)
		}
		rel.Segments = append(rel.Segments, joincore.Segment{Rows: n, Columns: []joincore.Vector{v}})
	}
	h, err := hostinput.New(0, rel)
	if err != nil {
		t.Fatal(err)
	}
	return h, keys
}

const null = 1 << 40

// TestChosenKeysAreSpread: keys that were chosen to be of one partition by one
// seed are not by another.
func TestChosenKeysAreSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	key := &device.Key{Exact: true, Parts: []device.KeyPart{{Class: joincore.KeyInt}}}
	const radix = 3
	h, keys := keyed(t, r, 8, 3000)
	chosen, err := partition(h, key, radix, make([]uint32, len(keys)))
	if err != nil {
		t.Fatal(err)
	}
	h.Seed = r.Uint64()
	parts, err := partition(h, key, radix, make([]uint32, len(keys)))
	if err != nil {
		t.Fatal(err)
	}
	where := map[uint32]int{}
	for p, rows := range parts {
		for _, row := range rows {
			where[row] = p
		}
	}
	used := map[int]bool{}
	for _, row := range chosen[1] {
		used[where[row]] = true
	}
	if len(used) < 1<<radix-2 {
		t.Errorf("keys that met by one seed are in %d partitions by another", len(used))
	}
}

func TestEqualKeysMeetInOnePartition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	key := &device.Key{Exact: true, Parts: []device.KeyPart{{Class: joincore.KeyInt}}}
	const radix = 3
	where := map[int64]int{null: 0}
	used := map[int]bool{}
	for _, width := range []int{1, 2, 4, 8} {
		h, keys := keyed(t, r, width, 3000)
		parts, err := partition(h, key, radix, make([]uint32, 3000))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint32]bool{}
		for p, rows := range parts {
			for i, row := range rows {
				if seen[row] || i > 0 && rows[i-1] >= row {
					t.Fatalf("width %d: row %d twice or out of order", width, row)
				}
				seen[row], used[p] = true, true
				k := keys[row]
				if before, ok := where[k]; ok && before != p {
					t.Fatalf("width %d: key %d in partitions %d and %d", width, k, before, p)
				}
				where[k] = p
			}
		}
		if len(seen) != len(keys) {
			t.Errorf("width %d: %d of %d rows", width, len(seen), len(keys))
		}
	}
	if len(used) != 1<<radix {
		t.Errorf("%d of %d partitions are used", len(used), 1<<radix)
	}
}

// TestKeysOfSeveralParts: all parts count, whatever their widths on either side.
func TestKeysOfSeveralParts(t *testing.T) {
	hash := func(number []byte, text string) uint64 {
		var h [1]uint64
		fold(h[:], &joincore.Vector{Values: number}, 0, len(number))
		fold(h[:], &joincore.Vector{Values: []byte(text)}, 0, len(text))
		return h[0]
	}
	a := hash([]byte{0xff, 0xff, 0xff, 0xff}, "abcdefghijklmnop")
	if b := hash([]byte{0xff}, "abcdefghijklmnop"); a != b {
		t.Errorf("-1 in 4 bytes and in 1: %x, %x", a, b)
	}
	if c := hash([]byte{0xff}, "abcdefghijklmnoq"); a == c {
		t.Errorf("the second part does not count: %x", a)
	}
}

func BenchmarkPartition(b *testing.B) {
	const rows = 1 << 20
	v := joincore.Vector{Values: make([]byte, 8*rows)}
	for i := range rows {
		binary.LittleEndian.PutUint64(v.Values[8*i:], rand.Uint64())
	}
	h, err := hostinput.New(0, &joincore.Relation{
		Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 8}}, Segments: []joincore.Segment{{Rows: rows, Columns: []joincore.Vector{v}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	key, list := &device.Key{Parts: []device.KeyPart{{Class: joincore.KeyInt}}}, make([]uint32, rows)
	b.SetBytes(8 * rows)
	for b.Loop() {
		if _, err := partition(h, key, 4, list); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAKeyThatChangesIsNoticed changes a key between the two readings, so that a partition
// has a row more than were counted.
func TestAKeyThatChangesIsNoticed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	key := &device.Key{Exact: true, Parts: []device.KeyPart{{Class: joincore.KeyInt}}}
	const radix = 3
	h, keys := keyed(t, r, 8, 300)
	counts, err := countRows(h, key, radix)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]uint32, len(keys))
	parts, err := placeRows(h, key, radix, counts, list)
	if err != nil {
		t.Fatal(err)
	}
	// A row of partition 1 gets the key of one of partition 2.
	values := func(row uint32) []byte {
		segment := 0
		for int(row) >= h.Relation.Segments[segment].Rows {
			row -= uint32(h.Relation.Segments[segment].Rows)
			segment++
		}
		return h.Relation.Segments[segment].Columns[0].Values[8*row:][:8]
	}
	copy(values(parts[1][0]), values(parts[2][0]))
	if _, err := placeRows(h, key, radix, counts, list); !errors.Is(err, joincore.ErrInvalid) {
		t.Errorf("error %v, want %v", err, joincore.ErrChanged)
	}
}
