package phj

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"gpujoin/testsupport/columnartest"
	"gpujoin/testsupport/packing"
)

func TestCompressionIsTheHeaders(t *testing.T) {
	const header = "../../kernels/layout/compress.h"
	for name, c := range map[string]struct {
		mirror any
		bytes  uintptr
	}{
		"gj_row_word":    {rowWord{}, rowWordBytes},
		"gj_row_part":    {rowPart{}, rowPartBytes},
		"gj_parcel":      {parcelDescriptor{}, parcelBytes},
		"gj_compression": {compressionDescriptor{}, compressionBytes},
	} {
		columnartest.Layout(t, header, name, c.mirror)
		if size := reflect.TypeOf(c.mirror).Size(); size != c.bytes {
			t.Errorf("%s has %d bytes, not %d", name, size, c.bytes)
		}
	}
}

// A parcel has room for its chunks, also if none of them shrinks, and chunks that both ends
// number alike.
func TestParcels(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 100 {
		words, partitions := 1+r.IntN(20), 1+r.IntN(64)
		starts, there, rows := make([]uint32, partitions), make([]uint32, partitions), make([]uint32, partitions)
		for p := range rows {
			starts[p], there[p] = r.Uint32(), r.Uint32()
			if r.IntN(3) > 0 {
				rows[p] = r.Uint32N(3 * chunkRows)
			}
		}
		p, parts := planParcel(starts, rows, words, 5, 70)
		other, received := planParcel(there, rows, words, 0, 0)
		if p != other {
			t.Fatalf("a device sends %+v, and the other one expects %+v", p, other)
		}
		most, chunks, all := int64(0), uint64(0), int64(0)
		for i, part := range parts {
			if part.Row != uint64(starts[part.Partition]) || received[i].Row != uint64(there[part.Partition]) || part.Chunk != 70+chunks ||
				received[i].Chunk != chunks || part.Parcel != 5 || part.Rows != uint64(rows[part.Partition]) || part.Rows == 0 {
				t.Fatalf("part %d is %+v, and where it arrives %+v", i, part, received[i])
			}
			for left := int64(part.Rows); left > 0; left -= chunkRows {
				most += rawChunk(t, min(left, chunkRows), words)
				chunks++
			}
			all += int64(part.Rows)
		}
		if p.most != most || p.chunks != chunks || p.rows != all || p.places < 4*int64(chunks) || p.places%placesAlign != 0 {
			t.Fatalf("%+v; its chunks have %d bytes and %d rows", p, most, all)
		}
	}
	p := parcel{at: 1 << 20, places: placesAlign}
	if want := (parcelDescriptor{Chunk: 7, Places: p.at, Data: p.at + placesAlign, Used: 9}); p.describe(7, 9) != want {
		t.Errorf("%+v in place of %+v", p.describe(7, 9), want)
	}
	if p, parts := planParcel([]uint32{1, 2}, []uint32{0, 0}, 3, 0, 0); p.bytes() != 0 || parts != nil {
		t.Errorf("a parcel without rows is %+v, %v", p, parts)
	}
}

// rawChunk returns the bytes of a chunk of random rows.
func rawChunk(t *testing.T, rows int64, words int) int64 {
	t.Helper()
	content := make([]uint32, rows*int64(words))
	for i := range content {
		content[i] = rand.Uint32()
	}
	content[0] |= 1 << 31
	if rows > 1 {
		content[words] &^= 1 << 31
	}
	chunk, err := packing.Coding{KeyWords: 1, Words: words}.Pack(nil, content)
	if err != nil {
		t.Fatal(err)
	}
	if rows < 3 || rows > 100 { // of which some shrink by chance
		return chunkBytes(rows, words)
	}
	return int64(len(chunk))
}

// Words of rows are where the stripes of a buffer have them.
func TestRowWords(t *testing.T) {
	for words := 1; words <= 19; words++ {
		const at, capacity = 1 << 20, 640
		list, sizes := rowWords(at, capacity, stripeSizes(words)), stripeSizes(words)
		if len(list) != words {
			t.Fatalf("%d words of rows of %d", len(list), words)
		}
		word, before := 0, uint64(0)
		for _, bytes := range sizes {
			for q := range uint64(bytes / 4) {
				if want := (rowWord{at + capacity*before + 4*q, uint64(bytes)}); list[word] != want {
					t.Errorf("word %d of %d is %+v in place of %+v", word, words, list[word], want)
				}
				word++
			}
			before += uint64(bytes)
		}
	}
}

// Compressed rows replace blocks: each row that a block has goes from the same row of the sender's buffer to
// the same row of the receiver's, and both devices number chunks alike.
func TestParcelsReplaceBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	for range 200 {
		devices, partitions := 1+r.IntN(4), 1<<r.IntN(5)
		counts, to := make([][]int64, devices), make([][]uint64, partitions)
		for g := range counts {
			for range partitions {
				counts[g] = append(counts[g], r.Int64N(3000)*r.Int64N(2))
			}
		}
		for p := range to {
			for range devices {
				to[p] = append(to[p], r.Uint64N(1<<devices))
			}
		}
		sendings, arrivals, blocks := PlaceBlocks(counts, to, 8, make([]int64, devices))
		for g := range devices {
			for k := range devices {
				starts, rows := sentTo(sendings[g], k, g)
				out, sent := planParcel(starts, rows, 3, 0, 0)
				starts, rows = receivedFrom(arrivals[k], g, k)
				in, received := planParcel(starts, rows, 3, 0, 0)
				if out != in || len(sent) != len(received) {
					t.Fatalf("from %d to %d: %+v is sent, %+v expected", g, k, out, in)
				}
				if g == k {
					if out.rows != 0 {
						t.Fatalf("device %d sends itself %+v", g, out)
					}
					continue
				}
				all, b := int64(0), blocks[g][k]
				for p, set := range to {
					if set[g]>>k&1 != 0 {
						all += counts[g][p]
					}
				}
				if out.rows != all {
					t.Errorf("from %d to %d: %d rows of %d", g, k, out.rows, all)
				}
				for i, part := range sent {
					from, at := int64(part.Row)-b.From, int64(received[i].Row)-b.At
					if from != at || from < 0 || from+int64(part.Rows) > b.Rows || part.Partition != received[i].Partition || part.Rows != received[i].Rows || part.Chunk != received[i].Chunk {
						t.Fatalf("from %d to %d, block %+v: part %d is %+v, and where it arrives %+v", g, k, b, i, part, received[i])
					}
				}
			}
		}
	}
}
