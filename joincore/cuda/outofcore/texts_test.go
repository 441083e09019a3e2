package outofcore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/hostinput"
)

// TestTexts: pieces of any size have the bytes of the rows' texts, in the order of the row ids, which may repeat.
func TestTexts(t *testing.T) {
	var rel joincore.Relation
	rel.Columns = []joincore.Column{{Kind: joincore.Varlena, Align: 1}}
	var values [][]byte
	for _, rows := range []int{5, 0, 70, 1} {
		vector := joincore.Vector{Values: make([]byte, 4), Validity: make([]byte, (rows+7)/8)}
		for i := range rows {
			var value []byte
			if n := len(values); n%5 != 1 {
				value = bytes.Repeat([]byte{byte(n)}, n%9)
				vector.Validity[i/8] |= 1 << (i % 8)
			}
			values = append(values, value)
			vector.Heap = append(vector.Heap, value...)
			end := len(vector.Heap)
			vector.Values = append(vector.Values, byte(end), byte(end>>8), 0, 0)
		}
		rel.Segments = append(rel.Segments, joincore.Segment{Rows: rows, Columns: []joincore.Vector{vector}})
	}
	input, err := hostinput.New(0, &rel)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	for _, rows := range []int{0, 1, 2, 300} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			var ids []uint32
			var want []byte
			begins := []int64{0}
			for range rows {
				id := uint32(random.IntN(len(values)))
				ids, want = append(ids, id), append(want, values[id]...)
				begins = append(begins, int64(len(want)))
			}
			all := textsOf(input, 0, ids)
			if all.bytes() != int64(len(want)) {
				t.Fatalf("%d bytes, not %d", all.bytes(), len(want))
			}
			for row, begin := range begins {
				if all.begin(row) != begin {
					t.Errorf("row %d begins at %d, not at %d", row, all.begin(row), begin)
				}
			}
			for _, size := range []int{1, 7, 64, 1 << 20} {
				var got []byte
				for at := 0; at < len(want); at += size {
					piece := make([]byte, min(size, len(want)-at))
					all.copy(piece, int64(at))
					got = append(got, piece...)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("pieces of %d bytes: other bytes", size)
				}
			}
		})
	}
}
