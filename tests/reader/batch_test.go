package reader

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"gpujoin/shm"
)

// misplace changes a column's offset in the first batch of an input, or the
// number of rows, to values around the limits.
func misplace(r *rand.Rand, input []byte) []byte {
	const (
		resultRows = 4 + 4 + 8      // in the frame that announces it
		batch      = 4 + 4 + 16 + 4 // after that frame and its length
	)
	input = bytes.Clone(input)
	put := func(at int, n uint32) { binary.LittleEndian.PutUint32(input[at:], n) }
	columns := batch + shm.Sizeof[shm.Batch]()
	column := columns + r.IntN(len(shapes))*shm.Sizeof[shm.Column]()
	texts := batch + int(binary.LittleEndian.Uint32(input[columns+textColumn*shm.Sizeof[shm.Column]()+8:]))
	near := uint32(extentSize - 64*r.IntN(12))
	for range 1 + r.IntN(3) {
		switch r.IntN(7) {
		case 0:
			put(column+8, near) // values
		case 1:
			put(column+4, 1) // NULLs
			put(column+12, near)
		case 2:
			put(column+16, near) // heap
		case 3:
			put(column+20, number(r, extentSize-near))
		case 4:
			rows := uint32(r.IntN(300))
			put(resultRows, rows)
			put(batch+8, rows)
		case 5: // the whole extent is in use, so that texts may be out of bounds
			put(column+16, 0)
			put(column+20, extentSize)
		case 6: // behind a NULL it is looked at first
			put(texts+4*r.IntN(20), number(r, extentSize))
		}
	}
	return input
}

// cutOff returns a batch with only a text column, whose last offset would be
// beyond the extent.
func cutOff() []byte {
	const rows = 16
	var (
		validity = uint32(512) // all bits are 0: NULLs
		heap     = uint32(1024)
		values   = uint32(extentSize - 4*rows)
	)
	extent := make([]byte, extentSize)
	b := shm.Append(extent[:0], &shm.Batch{
		Magic: shm.BatchMagic, Version: shm.LayoutVersion, NCols: uint16(len(shapes)), Rows: rows, Used: extentSize,
	})
	for i, s := range shapes {
		c := shm.Column{Encoding: s.Encoding, Align: s.Align, Width: s.Width, Nulls: rows, ValuesOff: 2048, ValidityOff: validity}
		if i == textColumn {
			c.Nulls, c.ValidityOff, c.ValuesOff, c.HeapOff, c.HeapLen = 0, 0, values, heap, 4*(rows+1)
		}
		b = shm.Append(b, &c)
	}
	for i := range uint32(rows) {
		copy(extent[heap+4*i:], []byte{4<<1 | 1, 'a', 'b', 'c'})
		binary.LittleEndian.PutUint32(extent[values+4*i:], 4*i)
	}
	p := &result{}
	p.frame(shm.MsgResult, 1, shm.Append(nil, &shm.Result{Extent: 7, Rows: rows}))
	p.piece(extent)
	return p.input
}

// TestBatches: result/reader.c and result/long_values.c read valid batches
// completely, and never read out of bounds.
func TestBatches(t *testing.T) {
	const proper = 1 << 31
	r := random(t)
	type expected struct {
		rows int
		sum  uint32
	}
	var inputs [][]byte
	right := map[int]expected{}
	for range 50 {
		sum := fnv.New32a()
		p := &result{sum: sum}
		for range 1 + r.IntN(3) {
			p.batch(t, r)
		}
		p.frame(shm.MsgEnd, 0, nil)
		right[len(inputs)] = expected{p.rows, sum.Sum32()}
		inputs = append(inputs, p.input)
	}
	refused := len(inputs)
	inputs = append(inputs, cutOff())
	for len(inputs) < *rounds/4 { // each is a hundred times as large as an input of frames
		from := inputs[r.IntN(len(right))]
		if r.IntN(2) == 0 {
			inputs = append(inputs, misplace(r, from))
		} else {
			inputs = append(inputs, mutate(r, from))
		}
	}
	n, ended := 0, 0
	build(t, "batch", "result/reader.c", "result/long_values.c", "numeric/decimal.c").try(t, inputs, func(input []byte, result uint64) {
		rows := int(result & (proper - 1))
		if e, ok := right[n]; ok && (rows != e.rows || result&proper == 0 || uint32(result>>32) != e.sum) {
			t.Errorf("input %d: %d rows of %d, to the end: %v, checksum %x, should be %x",
				n, rows, e.rows, result&proper != 0, result>>32, e.sum)
		}
		if n == refused && (rows != 0 || result&proper != 0) {
			t.Errorf("%d rows were read of a batch that is cut off", rows)
		}
		if result&proper != 0 {
			ended++
		}
		n++
	})
	if ended < len(inputs)/20 || ended == len(inputs) {
		t.Errorf("%d of %d inputs were read to their end", ended, len(inputs))
	}
}
