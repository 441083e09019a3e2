package textcodes

import "gpujoin/joincore"

// texts are the values of a part of a column, in memory of the job. They are copied to the
// segment's heap when its size is known.
type texts struct {
	blocks [][]byte // of whole values
	size   int      // of all
}

// add appends a value.
func (t *texts) add(mem *joincore.Account, payload []byte) error {
	size := joincore.TextSize(len(payload), textAlign)
	n := len(t.blocks)
	if n == 0 || cap(t.blocks[n-1])-len(t.blocks[n-1]) < size {
		block, err := mem.Alloc(int64(max(min(firstBlock<<min(n, 16), mostBlock), size)))
		if err != nil {
			return err
		}
		t.blocks = append(t.blocks, block[:0:len(block)])
		n++
	}
	end := len(t.blocks[n-1])
	t.blocks[n-1] = t.blocks[n-1][:end+size]
	joincore.PutText(t.blocks[n-1][end:], payload)
	t.size += size
	return nil
}

// move copies the values to a heap, and frees them.
func (t *texts) move(mem *joincore.Account, heap []byte) {
	for _, b := range t.blocks {
		heap = heap[copy(heap, b):]
		mem.Free(b)
	}
	t.blocks = nil
}

// textAlign is the alignment of columns of texts.
const textAlign = 4
