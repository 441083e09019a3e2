package packing

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

func rowsOf(r *rand.Rand, c Coding, n int, shared, idRange uint64) (keys, ids []uint64) {
	first := r.Uint64() & ones(c.IDBits)
	for range n {
		k := r.Uint64() & ones(c.KeyBits) &^ (ones(c.SharedBits) << c.SharedAt)
		keys = append(keys, k|shared<<c.SharedAt)
		ids = append(ids, (first&^ones(c.IDBits/2)+r.Uint64N(idRange))&ones(c.IDBits))
	}
	return keys, ids
}

func TestPackedRowsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		c := Coding{KeyBits: 1 + r.IntN(64), IDBits: 1 + r.IntN(64)}
		c.SharedBits = r.IntN(c.KeyBits + 1)
		c.SharedAt = r.IntN(c.KeyBits - c.SharedBits + 1)
		shared := r.Uint64() & ones(c.SharedBits)
		keys, ids := rowsOf(r, c, r.IntN(3000), shared, 1+r.Uint64N(1<<r.IntN(63)))
		packed, err := c.Pack(nil, keys, ids)
		if err != nil {
			t.Fatal(err)
		}
		k, i, err := c.Unpack(packed, shared, nil, nil)
		if err != nil || !slices.Equal(k, keys) || !slices.Equal(i, ids) {
			t.Fatalf("%+v, %d rows: %v", c, len(keys), err)
		}
		// Never larger than the rows themselves by more than the headers.
		raw := (len(keys)*(c.KeyBits+c.IDBits) + 7) / 8
		if blocks := len(keys)/c.BlockRows() + 1; len(packed) > raw+blocks*(headerBytes+2) {
			t.Fatalf("%+v: %d bytes of rows became %d", c, raw, len(packed))
		}
	}
}

// The paper's ratio: keys and ids of 4 bytes, 12 bits of the partition.
func TestPackedRowsAreSmaller(t *testing.T) {
	c := Coding{KeyBits: 32, IDBits: 32, SharedAt: 20, SharedBits: 12}
	keys, ids := rowsOf(rand.New(rand.NewPCG(1, 1)), c, 100_000, 99, 1<<12)
	packed, err := c.Pack(nil, keys, ids)
	if err != nil {
		t.Fatal(err)
	}
	if ratio := float64(8*len(keys)) / float64(len(packed)); ratio < 1.9 || ratio > 2.1 {
		t.Errorf("ratio %.2f", ratio)
	}
}

func TestPackedRowsAreDistrusted(t *testing.T) {
	c := Coding{KeyBits: 32, IDBits: 16, SharedAt: 20, SharedBits: 12}
	good, err := c.Pack(nil, []uint64{1, 2, 3}, []uint64{10, 20, 30})
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, to byte) []byte {
		x := slices.Clone(good)
		x[at] = to
		return x
	}
	least := slices.Clone(good)
	binary.LittleEndian.PutUint64(least[4:], 1<<16-1) // ids overflow
	for _, x := range [][]byte{good[:5], good[:len(good)-1], append(slices.Clone(good), 1), change(0, 0), change(1, 255), change(2, 19), change(3, 17), least} {
		if _, _, err := c.Unpack(x, 0, nil, nil); !errors.Is(err, ErrPacked) {
			t.Errorf("% x: %v", x, err)
		}
	}
	if _, _, err := c.Unpack(good, 1<<12, nil, nil); !errors.Is(err, ErrPacked) {
		t.Errorf("shared bits: %v", err)
	}
	for _, c := range []Coding{{}, {KeyBits: 65, IDBits: 1}, {KeyBits: 8, IDBits: 8, SharedAt: 4, SharedBits: 5}, {KeyBits: 8, IDBits: 8, SharedAt: -1}} {
		if _, err := c.Pack(nil, nil, nil); !errors.Is(err, ErrPacked) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := c.Pack(nil, []uint64{1}, nil); !errors.Is(err, ErrPacked) {
		t.Errorf("a key without id: %v", err)
	}
}

func TestPackingPaysOnSlowLinks(t *testing.T) {
	if !Pays(200, 100, 23, 200, 200) {
		t.Error("half the bytes, a link of 23 GB/s")
	}
	if Pays(200, 100, 397, 400, 400) {
		t.Error("half the bytes, a link as fast as packing")
	}
}

func FuzzUnpack(f *testing.F) {
	c := Coding{KeyBits: 32, IDBits: 32, SharedAt: 20, SharedBits: 12}
	good, err := c.Pack(nil, []uint64{1, 2, 3}, []uint64{10, 20, 30})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, uint8(32), uint8(32), uint8(20), uint8(12), uint64(5))
	f.Fuzz(func(t *testing.T, src []byte, key, id, at, shared uint8, value uint64) {
		c := Coding{int(key), int(id), int(at), int(shared)}
		keys, ids, err := c.Unpack(src, value, nil, nil)
		if err != nil {
			if !errors.Is(err, ErrPacked) {
				t.Fatal(err)
			}
			return
		}
		// What is accepted has values of the promised width, and packs again.
		packed, err := c.Pack(nil, keys, ids)
		if err != nil {
			t.Fatal(err)
		}
		k, i, err := c.Unpack(packed, value, nil, nil)
		if err != nil || !slices.Equal(k, keys) || !slices.Equal(i, ids) {
			t.Fatalf("%v", err)
		}
	})
}
