package cpu

import "gpujoin/joincore"

// layout is how a block of memory is divided into columns of the same number of
// rows, a multiple of rowUnit.
type layout struct{ n64, n32, n8 int }

// rowUnit is a multiple of the rows that a block has, so that each column is
// aligned.
const rowUnit = 64

func (l layout) bytes(rows int) int { return rows * (8*l.n64 + 4*l.n32 + l.n8) }

// block is memory in columns.
type block struct {
	memory []byte
	c64    [][]uint64
	c32    [][]uint32
	c8     [][]uint8
}

// newBlock allocates a block of unspecified content.
func (l layout) newBlock(m *joincore.Account, rows int) (block, error) {
	memory, err := m.Alloc(int64(l.bytes(rows)))
	if err != nil {
		return block{}, err
	}
	b := block{memory: memory}
	for range l.n64 {
		b.c64, memory = append(b.c64, view[uint64](memory[:8*rows])), memory[8*rows:]
	}
	for range l.n32 {
		b.c32, memory = append(b.c32, view[uint32](memory[:4*rows])), memory[4*rows:]
	}
	for range l.n8 {
		b.c8, memory = append(b.c8, memory[:rows:rows]), memory[rows:]
	}
	return b, nil
}

func (b *block) release(m *joincore.Account) {
	m.Free(b.memory)
	*b = block{}
}
