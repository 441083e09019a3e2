package encode

import "encoding/binary"

// texts are the values of a part of a column, in memory of the job. They are copied to the
// segment's heap when its size is known.
type texts struct {
	blocks [][]byte // of whole values
	size   int      // of all
}

// add appends a value.
func (t *texts) add(mem *memory, payload []byte) error {
	size := textSize(payload)
	n := len(t.blocks)
	if n == 0 || cap(t.blocks[n-1])-len(t.blocks[n-1]) < size {
		block, err := mem.alloc(max(min(firstBlock<<min(n, 16), mostBlock), size))
		if err != nil {
			return err
		}
		t.blocks = append(t.blocks, block[:0:len(block)])
		n++
	}
	t.blocks[n-1] = appendText(t.blocks[n-1], payload)
	t.size += size
	return nil
}

// move copies the values to a heap, and frees them.
func (t *texts) move(mem *memory, heap []byte) {
	for _, b := range t.blocks {
		heap = heap[copy(heap, b):]
		mem.release(b)
	}
	t.blocks = nil
}

const headerBytes = 4

// textSize is what appendText appends of a payload.
func textSize(payload []byte) int { return (headerBytes + len(payload) + 3) / 4 * 4 }

// appendText appends a value of variable length: a header, the payload and padding.
func appendText(heap, payload []byte) []byte {
	heap = binary.LittleEndian.AppendUint32(heap, uint32(len(payload)+headerBytes)<<2)
	heap = append(heap, payload...)
	for len(heap)%4 != 0 {
		heap = append(heap, 0)
	}
	return heap
}
