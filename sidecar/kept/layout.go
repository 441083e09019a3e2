package kept

import (
	"math/bits"
	"slices"
)

// layout says which blocks a span of values has, from which version of their pages, and how
// many rows each of them has. It does not change, but for its proof. Columns of a chunk that
// were captured together share one.
type layout struct {
	have  blockSet
	lsn   []uint64 // of each block's page when it was captured; 0: the block is not there
	rows  []uint16 // of each block
	total int      // rows of all blocks
	proof proof
	users int // pieces that have it
}

// layoutBytes is what the directory counts for a layout of n blocks: the two arrays above,
// the rest of the struct and the allocator's rounding.
func layoutBytes(n int) int64 { return int64(n)*10 + 256 }

func newLayout(blocks int) *layout {
	return &layout{lsn: make([]uint64, blocks), rows: make([]uint16, blocks)}
}

func (l *layout) bytes() int64 { return layoutBytes(len(l.lsn)) }

// set adds a block that the layout does not have.
func (l *layout) set(block int, lsn uint64, rows int) {
	l.have.add(block)
	l.lsn[block], l.rows[block] = lsn, uint16(rows)
	l.total += rows
}

// same reports whether two layouts have the same blocks from the same versions of their pages.
func (l *layout) same(o *layout) bool {
	return l == o || l.have == o.have && slices.Equal(l.lsn, o.lsn) && slices.Equal(l.rows, o.rows)
}

// common returns the blocks that both layouts have from the same version of the page. Rows
// of the same page can only be as many in both, or else a backend has reported nonsense.
func (l *layout) common(o *layout) blockSet {
	both := l.have.and(o.have)
	if l == o {
		return both
	}
	both.each(func(i int) {
		if l.lsn[i] != o.lsn[i] || l.rows[i] != o.rows[i] {
			both.drop(i)
		}
	})
	return both
}

// appendLSNs appends the LSNs of blocks that the layout has. Mostly these are all blocks of a word.
func (l *layout) appendLSNs(lsns []uint64, blocks *blockSet) []uint64 {
	for w, word := range blocks {
		if word == ^uint64(0) {
			lsns = append(lsns, l.lsn[64*w:64*w+64]...)
			continue
		}
		for ; word != 0; word &= word - 1 {
			lsns = append(lsns, l.lsn[64*w+bits.TrailingZeros64(word)])
		}
	}
	return lsns
}

// starts returns the first row of each block in the span, and the number of all rows.
func (l *layout) starts() []int32 {
	out := make([]int32, len(l.rows)+1)
	for i, n := range l.rows {
		out[i+1] = out[i] + int32(n)
	}
	return out
}

// proof says that blocks of a layout were valid when their VM page had an LSN: their pages had
// the LSN of the layout while, or after, the VM page had that one.
type proof struct {
	vm     uint64 // 0: nothing is proved
	blocks blockSet
}

// at returns the blocks that are proved at a VM LSN. A proof says nothing at another one:
// between the two, a bit may have been cleared and set again.
func (p *proof) at(vm uint64) blockSet {
	if vm == 0 || vm != p.vm {
		return blockSet{}
	}
	return p.blocks
}

// add adds blocks that were proved at a VM LSN, which must be flushed. Queries overlap, so
// this may be an earlier LSN than that of the proof. No later query will read it, because the
// LSN of a page only grows: the proof stays as it is. It never mixes the two.
func (p *proof) add(vm uint64, blocks blockSet) {
	switch {
	case vm < p.vm || vm == 0:
	case vm == p.vm:
		p.blocks = p.blocks.or(blocks)
	default:
		*p = proof{vm, blocks}
	}
}
