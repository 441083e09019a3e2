package cpu

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

type heapMemory struct{}

func (heapMemory) Alloc(n int64) ([]byte, error) { return make([]byte, n), nil }
func (heapMemory) Free([]byte)                   {}

// buildOf makes a table of int8 keys.
func buildOf(t *testing.T, streams int, seed uint64, keys []uint64) (*dev, *table) {
	t.Helper()
	opened, err := New().Open(heapMemory{}, device.Options{Streams: streams, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*dev)
	var values []byte
	for _, k := range keys {
		values = binary.LittleEndian.AppendUint64(values, k)
	}
	column := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	s, err := d.Import(0, &joincore.Relation{
		Columns:  []joincore.Column{column},
		Segments: []joincore.Segment{{Rows: len(keys), Columns: []joincore.Vector{{Values: values}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	key, _ := device.Keys([]joincore.KeyPair{{Class: joincore.KeyInt}}, func(joincore.ColumnRef) joincore.Column { return column })
	table_, err := d.Build(context.Background(), s, &device.Match{Build: key})
	if err != nil {
		t.Fatal(err)
	}
	return d, table_.(*table)
}

// heads returns the chains of keys.
func (t *table) heads(keys []uint64) []uint32 {
	head := make([]uint32, len(keys))
	if t.dense != nil {
		t.lookupDense(keys, head)
	} else {
		t.lookup(keys, head, make([]uint32, len(keys)), make([]uint32, len(keys)))
	}
	return head
}

// follow returns the rows of a chain.
func (t *table) follow(head uint32) []uint32 {
	var out []uint32
	for h := head; h != 0; {
		out = append(out, h-1)
		if !t.chains.Load() {
			break
		}
		h = t.chain[h-1-t.first]
	}
	return out
}

// TestTable finds every key of tables that are built in different ways, and
// no other key.
func TestTable(t *testing.T) {
	const n = 1 << 15
	const seed = 7
	scattered := func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }
	var colliding []uint64 // all in the first of four regions
	for i := 0; len(colliding) < n; i++ {
		if mix(scattered(i)^seed)>>62 == 0 {
			colliding = append(colliding, scattered(i))
		}
	}
	for name, c := range map[string]struct {
		streams int
		key     func(i int) uint64
		dense   bool
	}{
		"built by one stream":       {1, scattered, false},
		"built in regions":          {4, scattered, false},
		"one region overflows":      {4, func(i int) uint64 { return colliding[i] }, false},
		"chains":                    {3, func(i int) uint64 { return scattered(i % 1000) }, false},
		"chains by one stream":      {1, func(i int) uint64 { return scattered(i % 20_000) }, false},
		"fewer keys than regions":   {4, func(i int) uint64 { return scattered(i % 3) }, false},
		"half of one key":           {2, func(i int) uint64 { return scattered(i * (i & 1)) }, false},
		"array":                     {4, func(i int) uint64 { return uint64(i*7) - n }, true},
		"array with chains":         {2, func(i int) uint64 { return uint64(i % 100) }, true},
		"array of one key":          {4, func(i int) uint64 { return 5 }, true},
		"array by one stream":       {1, func(i int) uint64 { return uint64(i * 8) }, true},
		"array at the ends of int8": {2, func(i int) uint64 { return 1<<63 + uint64(i) }, true},
		"the whole range of int8":   {2, func(i int) uint64 { return uint64(i) << 48 }, false},
	} {
		keys := make([]uint64, n)
		want := map[uint64]int{}
		for i := range keys {
			keys[i] = c.key(i)
			want[keys[i]]++
		}
		d, table := buildOf(t, c.streams, seed, keys)
		if (table.dense != nil) != c.dense {
			t.Errorf("%s: an array: %v", name, table.dense != nil)
		}
		distinct := slices.Collect(maps.Keys(want))
		for i, head := range table.heads(distinct) {
			key := distinct[i]
			found := table.follow(head)
			if len(found) != want[key] {
				t.Fatalf("%s: key %#x: %d rows, want %d", name, key, len(found), want[key])
			}
			for _, row := range found {
				if keys[row] != key {
					t.Fatalf("%s: key %#x: row %d has %#x", name, key, row, keys[row])
				}
			}
		}
		for i := range distinct {
			distinct[i] += 3
		}
		for i, head := range table.heads(distinct) {
			if head != 0 && want[distinct[i]] == 0 {
				t.Fatalf("%s: key %#x is not there", name, distinct[i])
			}
		}
		d.Close()
	}
}
