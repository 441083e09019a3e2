package packing

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomRows returns rows of one partition whose other words have the given bits, less than a
// random number or more.
func randomRows(r *rand.Rand, c Coding, n int, partition uint32, width int) (rows []uint32) {
	least := make([]uint32, c.Words)
	for k := range least {
		least[k] = r.Uint32()
	}
	for range n {
		key := c.WithKey(partition, r.Uint64())
		row := []uint32{uint32(key), uint32(key >> 32)}[:c.KeyWords]
		for k := c.KeyWords; k < c.Words; k++ {
			row = append(row, least[k]+r.Uint32()&uint32(ones(width)))
		}
		rows = append(rows, row...)
	}
	return rows
}

// There are as many hashes as keys.
func TestHashesHaveKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 1000 {
		c := Coding{KeyWords: 1 + r.IntN(2), Words: 2, SharedBits: r.IntN(33), Seed: r.Uint64()}
		key := r.Uint64() & ones(c.keyBits())
		if got := c.unhash(c.hash(key)); got != key {
			t.Fatalf("%+v: %#x in place of %#x", c, got, key)
		}
		p := r.Uint32() & uint32(ones(c.SharedBits))
		key = c.WithKey(p, r.Uint64())
		if got := c.Partition([]uint32{uint32(key), uint32(key >> 32)}); got != p {
			t.Fatalf("%+v: a key of partition %d in place of %d", c, got, p)
		}
	}
}

func TestPackedRowsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 500 {
		c := Coding{KeyWords: 1 + r.IntN(2), SharedBits: r.IntN(33), Seed: r.Uint64()}
		c.Words = c.KeyWords + r.IntN(12)
		p := r.Uint32() & uint32(ones(c.SharedBits))
		rows := randomRows(r, c, 1+r.IntN(ChunkRows), p, r.IntN(33))
		packed, err := c.Pack([]byte("before"), rows)
		if err != nil {
			t.Fatal(err)
		}
		got, left, err := c.Unpack(append(packed[6:], 1, 2, 3), p, []uint32{9})
		if err != nil || !slices.Equal(got[1:], rows) || len(left) != 3 || string(packed[:6]) != "before" {
			t.Fatalf("%+v, %d rows: %v, %d bytes are left", c, len(rows)/c.Words, err, len(left))
		}
		// Never larger than the rows themselves, the first word and padding.
		if most := 4*(1+len(rows)) + unit - 1; len(packed)-6 > most {
			t.Fatalf("%+v: %d words became %d bytes", c, len(rows), len(packed)-6)
		}
	}
}

// Keys travel in the form that has fewer bits, words without bits that they do not need, and rows
// that would not shrink as they are.
func TestForms(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	c := Coding{KeyWords: 2, Words: 4, SharedBits: 8, Seed: 77}
	minimum, maximum := uint64(1<<63), uint64(math.MaxInt64)
	of := func(keys ...uint64) (rows []uint32) {
		for i := range 100 {
			k := keys[i%len(keys)]
			rows = append(rows, uint32(k), uint32(k>>32), uint32(i%3)-1, 5)
		}
		return rows
	}
	for name, x := range map[string]struct {
		rows  []uint32
		form  byte
		width byte // of the key
		bytes int  // at most
	}{
		"equal keys":     {of(1 << 40), less, 0, 4*6 + 28 + unit},
		"small numbers":  {of(math.MaxUint64, 0, 1), less, 2, 4*6 + 28 + 28 + unit},
		"widest numbers": {of(minimum, maximum), hashed, 56, 100*56/8 + 4*6 + 28 + unit},
		"random rows":    {randomRows(r, Coding{KeyWords: 2, Words: 4, Seed: 77}, 3, 0, 32), raw, 0, 4 * (1 + 3*4 + 3)},
	} {
		packed, err := c.Pack(nil, x.rows)
		if err != nil || packed[2] != x.form || packed[3] != x.width || len(packed) > x.bytes {
			t.Errorf("%s: form %d, %d bits, %d bytes, %v", name, packed[2], packed[3], len(packed), err)
		}
	}
}

// The paper's ratio: keys of a partition and tuple ids.
func TestPackedRowsAreSmaller(t *testing.T) {
	c := Coding{KeyWords: 2, Words: 3, SharedBits: 8}
	packed, err := c.Pack(nil, randomRows(rand.New(rand.NewPCG(1, 1)), c, ChunkRows, 99, 16))
	if err != nil {
		t.Fatal(err)
	}
	if ratio := float64(12*ChunkRows) / float64(len(packed)); ratio < 1.3 || ratio > 1.4 {
		t.Errorf("ratio %.2f", ratio)
	}
}

func TestPackedRowsAreDistrusted(t *testing.T) {
	c := Coding{KeyWords: 1, Words: 2, SharedBits: 12}
	good, err := c.Pack(nil, randomRows(rand.New(rand.NewPCG(2, 2)), c, 100, 7, 9))
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, to byte) []byte {
		x := slices.Clone(good)
		x[at] = to
		return x
	}
	for _, x := range [][]byte{nil, good[:3], good[:len(good)-1], good[:len(good)-unit], change(0, 0), change(1, 255), change(2, 3), change(3, 19), change(3, 33), change(12, 33)} {
		if _, _, err := c.Unpack(x, 7, nil); !errors.Is(err, ErrPacked) {
			t.Errorf("%d bytes from % x: %v", len(x), x[:min(16, len(x))], err)
		}
	}
	if _, _, err := c.Unpack(good, 1<<12, nil); !errors.Is(err, ErrPacked) {
		t.Errorf("a partition of 13 bits: %v", err)
	}
	for _, c := range []Coding{{}, {KeyWords: 3, Words: 3}, {KeyWords: 2, Words: 1}, {KeyWords: 1, Words: mostWords + 1}, {KeyWords: 1, Words: 1, SharedBits: 33}} {
		if _, err := c.Pack(nil, []uint32{1}); !errors.Is(err, ErrPacked) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, rows := range [][]uint32{nil, {1}, {1, 2, 3}, make([]uint32, 2*ChunkRows+2)} {
		if _, err := c.Pack(nil, rows); !errors.Is(err, ErrPacked) {
			t.Errorf("%d words: %v", len(rows), err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	c := Coding{KeyWords: 2, Words: 3, SharedBits: 12}
	good, err := c.Pack(nil, []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, uint8(2), uint8(1), uint8(12), uint32(5))
	f.Add(binary.LittleEndian.AppendUint32(nil, 1), uint8(1), uint8(1), uint8(0), uint32(0))
	f.Fuzz(func(t *testing.T, src []byte, key, payload, shared uint8, partition uint32) {
		c := Coding{KeyWords: int(key), Words: int(key) + int(payload), SharedBits: int(shared)}
		rows, _, err := c.Unpack(src, partition, nil)
		if err != nil {
			if !errors.Is(err, ErrPacked) {
				t.Fatal(err)
			}
			return
		}
		// What is accepted packs again, if its keys are of the partition.
		for i := 0; i < len(rows); i += c.Words {
			if c.Partition(rows[i:]) != partition {
				return
			}
		}
		packed, err := c.Pack(nil, rows)
		if err != nil {
			t.Fatal(err)
		}
		if again, _, err := c.Unpack(packed, partition, nil); err != nil || !slices.Equal(again, rows) {
			t.Fatalf("%v", err)
		}
	})
}
