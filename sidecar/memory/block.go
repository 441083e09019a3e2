package memory

import (
	"math/bits"
	"time"

	"gpujoin/shm"
)

// block is private memory of one size class.
type block struct {
	data  []byte
	freed time.Time // when it was last given back
}

func (b *block) size() int64 { return int64(len(b.data)) }

const pageSize = 4096

// classOf rounds n up to a size class: sixteen steps per power of two, in whole
// pages, and from 32 MiB on in whole huge pages. Rounding wastes at most a
// sixteenth.
func classOf(n int64) int64 {
	if n <= pageSize {
		return pageSize
	}
	step := int64(1) << max(bits.Len64(uint64(n-1))-5, 12)
	return (n + step - 1) / step * step
}

func newBlock(class int64) (*block, error) {
	data, err := shm.MapPrivate(int(class))
	if err != nil {
		return nil, err
	}
	return &block{data: data}, nil
}

func (b *block) destroy() {
	_ = shm.Unmap(b.data) // fails only for a mapping that is not ours
	b.data = nil
}
