package kernels_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"

	"gpujoin/testsupport/packing"
)

// compressed is a case of host/compress.cpp: rows of partitions, which go to several parcels.
type compressed struct {
	packing.Coding
	blocks, parcels int
	parts           []compressedPart
}

type compressedPart struct {
	parcel    int
	partition uint32
	rows      []uint32
}

// Chunks that kernels make are those of package packing, bit for bit; kernels and package packing get the
// rows back from them.
func TestCompressionOnTheHost(t *testing.T) {
	program := buildForHost(t, "compress")
	cases := compressedCases(rand.New(rand.NewPCG(31, 31)))
	var in []byte
	number := func(v uint64) { in = binary.LittleEndian.AppendUint64(in, v) }
	number(uint64(len(cases)))
	for _, c := range cases {
		for _, v := range []uint64{c.Seed, uint64(c.KeyWords), uint64(c.Words), uint64(c.SharedBits), uint64(c.blocks), uint64(c.parcels), uint64(len(c.parts))} {
			number(v)
		}
		for _, p := range c.parts {
			number(uint64(p.parcel))
			number(uint64(p.partition))
			number(uint64(len(p.rows) / c.Words))
			for _, w := range p.rows {
				in = binary.LittleEndian.AppendUint32(in, w)
			}
		}
	}
	run := exec.Command(program)
	run.Stdin = bytes.NewReader(in)
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	forms := map[byte]int{}
	for i, c := range cases {
		if err := c.check(&out, forms); err != nil {
			t.Fatalf("case %d, %+v, %d parts: %v", i, c.Coding, len(c.parts), err)
		}
	}
	if len(out) > 0 {
		t.Errorf("%d bytes of output are left", len(out))
	}
	t.Logf("%d cases; chunks by the form of the key: %v", len(cases), forms)
	for form := range byte(3) {
		if forms[form] < 20 {
			t.Errorf("%d chunks have the form %d", forms[form], form)
		}
	}
}

// check takes what a case has written from the output, and compares it.
func (c *compressed) check(out *[]byte, forms map[byte]int) error {
	number := func() (v uint64) {
		v, *out = binary.LittleEndian.Uint64(*out), (*out)[8:]
		return v
	}
	take := func(n uint64) (b []byte) {
		b, *out = (*out)[:n], (*out)[n:]
		return b
	}
	if wrong := number(); wrong != 0 {
		return fmt.Errorf("rows do not come back, or others are written")
	}
	for parcel := range c.parcels {
		chunks, used := number(), number()
		places, data := take(4*chunks), take(16*used)
		covered := uint64(0)
		for _, p := range c.parts {
			if p.parcel != parcel {
				continue
			}
			for rows := range slices.Chunk(p.rows, packing.ChunkRows*c.Words) {
				want, err := c.Pack(nil, rows)
				if err != nil {
					return err
				}
				at := uint64(binary.LittleEndian.Uint32(places))
				places, covered = places[4:], covered+uint64(len(want))
				if got := data[16*at:]; len(got) < len(want) || !bytes.Equal(got[:len(want)], want) {
					return fmt.Errorf("a chunk of %d rows of partition %d differs", len(rows)/c.Words, p.partition)
				}
				if got, _, err := c.Unpack(data[16*at:], p.partition, nil); err != nil || !slices.Equal(got, rows) {
					return fmt.Errorf("a chunk of %d rows of partition %d does not unpack: %v", len(rows)/c.Words, p.partition, err)
				}
				forms[want[2]]++
			}
		}
		if len(places) > 0 || covered != 16*used {
			return fmt.Errorf("chunks have %d bytes in %d", covered, 16*used)
		}
	}
	return nil
}

// compressedCases returns keys of both widths in any number of bits, the least and the greatest
// ones, equal ones, payload of no word to the most, values of all widths, partitions without rows between others, and
// numbers of rows around those of a chunk.
func compressedCases(r *rand.Rand) (cases []*compressed) {
	counts := []int{1, 2, 31, 32, 33, packing.ChunkRows - 1, packing.ChunkRows, packing.ChunkRows + 1, 3*packing.ChunkRows + 5}
	for i := range 240 {
		c := &compressed{Coding: packing.Coding{KeyWords: 1 + i%2, SharedBits: r.IntN(17), Seed: r.Uint64()}, blocks: 1 + r.IntN(5), parcels: 1 + r.IntN(3)}
		c.Words = c.KeyWords + r.IntN(7)
		switch i % 40 {
		case 10, 11:
			c.Words = c.KeyWords
		case 20, 21:
			c.Words = 514
		case 30, 31:
			c.SharedBits = 0
		}
		for parcel := range c.parcels {
			for range r.IntN(5) {
				rows := counts[r.IntN(len(counts))]
				if c.Words > 100 {
					rows = min(rows, 40)
				}
				c.parts = append(c.parts, c.part(r, parcel, rows))
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// part returns rows of a partition.
func (c *compressed) part(r *rand.Rand, parcel, rows int) compressedPart {
	p := compressedPart{parcel: parcel, partition: r.Uint32() & (1<<c.SharedBits - 1)}
	key, width, least := uint64(0), make([]int, c.Words), make([]uint32, c.Words)
	for k := range width {
		width[k], least[k] = r.IntN(33), r.Uint32()
	}
	kind := r.IntN(4)
	if kind == 3 && c.SharedBits > 5 { // small keys of a partition are rare
		c.SharedBits, p.partition = 0, 0
		for k := range c.parts {
			c.parts[k].partition = 0
		}
	}
	for i := range rows {
		switch kind {
		case 0: // equal keys
			if i == 0 {
				key = c.WithKey(p.partition, r.Uint64())
			}
		case 1, 2: // keys of all bits
			key = c.WithKey(p.partition, r.Uint64())
		case 3: // extremes among small keys
			for found := false; !found; {
				if key = uint64(r.IntN(1000) - 500); r.IntN(64) == 0 {
					key = [4]uint64{1 << 63, math.MaxInt64, 1 << 31, math.MaxInt32}[r.IntN(4)]
				}
				found = c.Partition([]uint32{uint32(key), uint32(key >> 32)}) == p.partition
			}
		}
		row := []uint32{uint32(key), uint32(key >> 32)}[:c.KeyWords]
		for k := c.KeyWords; k < c.Words; k++ {
			row = append(row, least[k]+uint32(r.Uint64()&(1<<width[k]-1)))
		}
		p.rows = append(p.rows, row...)
	}
	return p
}
