package reader

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/shm"
)

// extentSize and shapes are those of c/batch.c.
const extentSize = 8192

var shapes = []shm.ColumnShape{
	{Encoding: shm.EncFixed, Width: 8, Align: 8},
	{Encoding: shm.EncFixed, Width: 4, Align: 4},
	{Encoding: shm.EncFixed, Width: 2, Align: 2},
	{Encoding: shm.EncFixed, Width: 1, Align: 1},
	{Encoding: shm.EncFixed, Width: 16, Align: 1},
	{Encoding: shm.EncFixed, Width: 64, Align: 1},
	{Encoding: shm.EncVarlena, Align: 4},
	{Encoding: shm.EncFixed, Width: 8, Align: 8},
}

// mostText is the maximum bytes of a text in its column.
const mostText = 400

// Columns whose values are not arbitrary bytes of fixed length.
const (
	nameColumn    = 5
	textColumn    = 6
	decimalColumn = 7
)

// result is the sequence of messages that a daemon sends while rows are read,
// as parts of an input, and the values that must be read.
type result struct {
	input []byte
	rows  int
	sum   io.Writer // a hash of all values, in order
	chain chain
}

// chain has the long values of a batch; each batch refers to another
// participant's. It tracks the extents of all chains that the reader has
// mapped.
type chain struct {
	participant int32
	data        []byte
	mapped      []uint64 // as in fdw/result/long_values.c: the most recently used one last
}

// Bytes of data in a chain's extent, and the number of extents that a reader
// keeps mapped.
const (
	chainData   = extentSize - shm.ChainDataOff
	chainMapped = 8
)

func (p *result) piece(b []byte) {
	p.input = binary.LittleEndian.AppendUint32(p.input, uint32(len(b)))
	p.input = append(p.input, b...)
}

// frame adds a frame with descriptors; their extents must follow.
func (p *result) frame(m shm.Message, fds int, body []byte) {
	head := binary.LittleEndian.AppendUint16(nil, uint16(m))
	p.piece(append(binary.LittleEndian.AppendUint16(head, uint16(fds)), body...))
}

// batch adds a batch of random rows, followed by the extents of the chain that
// it is the first to need, in the order of requests.
func (p *result) batch(t *testing.T, r *rand.Rand) {
	t.Helper()
	layout, err := shm.PlanBatch(extentSize, shapes, []float64{textColumn: 60})
	if err != nil {
		t.Fatal(err)
	}
	extent := make([]byte, extentSize)
	columns := layout.Columns(extent)
	rows, most := 0, 1+r.IntN(layout.Rows)
	used := make([]int, len(shapes))
	var values []shm.ChainRef
	p.chain.participant++
	p.chain.data = nil
	for row := 0; row < most && len(columns[textColumn].Heap)-used[textColumn] >= mostText; row++ {
		rows++
		for i, c := range columns {
			if r.IntN(6) == 0 {
				c.Validity[row/8] &^= 1 << (row % 8)
				p.hash([]byte{0xff})
			} else if i == textColumn {
				used[i] += copy(c.Heap[used[i]:], p.text(r, &values))
			} else {
				p.fixed(r, i, c.Values[row*int(c.Shape.Width):][:c.Shape.Width])
			}
			if i == textColumn {
				binary.LittleEndian.PutUint32(c.Values[4*row+4:], uint32(used[i]))
			}
		}
	}
	size, _, err := layout.Seal(extent, rows, used)
	if err != nil {
		t.Fatal(err)
	}
	p.frame(shm.MsgResult, 1, shm.Append(nil, &shm.Result{Extent: 7, Rows: uint32(rows)}))
	p.piece(extent[:size])
	for _, ref := range values {
		p.fetch(ref)
	}
	p.rows += rows
}

func (p *result) hash(b []byte) { _, _ = p.sum.Write(b) }

// fixed fills in a value of fixed length.
func (p *result) fixed(r *rand.Rand, column int, to []byte) {
	for i := range to {
		to[i] = byte(r.Uint32())
	}
	switch column {
	case nameColumn: // ends with a zero byte
		n := r.IntN(len(to))
		for i := range to {
			to[i] = 'a' + to[i]%26
		}
		clear(to[n:])
		p.hash(to[:n])
	case decimalColumn: // at most 18 digits, or not a number
		const most = 1_000_000_000_000_000_000
		n := r.Int64N(2*most-1) - most + 1
		if r.IntN(8) == 0 {
			n = -1 << 63
		}
		binary.LittleEndian.PutUint64(to, uint64(n))
	default:
		p.hash(to)
	}
}

// text returns a varlena padded to 4 bytes, with a header of one or four bytes,
// or a reference to a chained value, which it adds to values.
func (p *result) text(r *rand.Rand, values *[]shm.ChainRef) []byte {
	if r.IntN(40) == 0 {
		ref := p.chained(r)
		*values = append(*values, ref)
		return shm.Append(nil, &ref)
	}
	n := r.IntN(120)
	if r.IntN(4) == 0 {
		n = r.IntN(mostText - 8)
	}
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	p.hash(data)
	if n < 127 && r.IntN(3) > 0 {
		return pad(append([]byte{byte(n+1)<<1 | 1}, data...))
	}
	return pad(append(binary.LittleEndian.AppendUint32(nil, uint32(n+4)<<2), data...))
}

func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }

// chained adds a value to the chain, much shorter than an extent or as long as several.
func (p *result) chained(r *rand.Rand) shm.ChainRef {
	length := 100 + r.IntN(chainData/3)
	if r.IntN(4) == 0 {
		length = 100 + r.IntN(5*chainData)
	}
	value := binary.LittleEndian.AppendUint32(nil, uint32(length)<<2)
	for len(value) < length {
		value = append(value, byte(r.Uint32()))
	}
	p.hash(value[4:])
	at := len(p.chain.data)
	p.chain.data = append(p.chain.data, value...)
	return shm.ChainRef{Header: shm.ChainRefByte, Tag: shm.ChainRefTag, Offset: uint32(at % chainData),
		Chain: shm.ChainExtentName(p.chain.participant, uint32(at/chainData)), Length: uint64(length)}
}

// fetch adds the extents of a value that the reader has not mapped.
func (p *result) fetch(ref shm.ChainRef) {
	from := int(uint32(ref.Chain))*chainData + int(ref.Offset)
	for n := from / chainData; n*chainData < from+int(ref.Length); n++ {
		name := shm.ChainExtentName(p.chain.participant, uint32(n))
		if i := slices.Index(p.chain.mapped, name); i >= 0 {
			p.chain.mapped = append(slices.Delete(p.chain.mapped, i, i+1), name)
			continue
		}
		if len(p.chain.mapped) == chainMapped {
			p.chain.mapped = p.chain.mapped[1:]
		}
		p.chain.mapped = append(p.chain.mapped, name)
		data := p.chain.data[n*chainData : min((n+1)*chainData, len(p.chain.data))]
		p.frame(shm.MsgChainExtent, 1, shm.Append(nil, &shm.ChainExtent{Extent: 9, Chain: name, Bytes: uint32(len(data))}))
		extent := shm.Append(nil, &shm.ChainHeader{
			Magic: shm.ChainMagic, Version: shm.LayoutVersion, Chain: name, Bytes: uint32(len(data)),
		})
		extent = append(extent, make([]byte, shm.ChainDataOff-len(extent))...)
		p.piece(append(extent, data...))
	}
}
