//go:build cuda

package columnar

import "gpujoin/joincore/cuda/driver"

// stagingBuffer is page-locked memory that descriptors are copied to the device from. It grows as
// a join needs it, and later joins reuse it.
type stagingBuffer struct {
	device *driver.Context
	blocks []*driver.Host
	block  int // that is in use; len(blocks): none
	used   int // bytes of it
}

// stagingBytes is the least size of a block. The descriptors of a join on one GPU fit one block: a
// side's 16 columns, one at a time, take 4 KiB each. Those of 128 columns a side on 4 GPUs do not.
const stagingBytes = 256 << 10

// take returns memory for n bytes, which the device may read until empty is called.
func (b *stagingBuffer) take(n int) ([]byte, error) {
	for b.block < len(b.blocks) && b.used+n > len(b.blocks[b.block].Bytes()) {
		b.block, b.used = b.block+1, 0
	}
	if b.block == len(b.blocks) {
		host, err := b.device.Pinned(int64(max(n, stagingBytes)))
		if err != nil {
			return nil, err
		}
		b.blocks = append(b.blocks, host)
	}
	b.used += n
	return b.blocks[b.block].Bytes()[b.used-n : b.used], nil
}

// empty makes all memory free again. The device must no longer read it.
func (b *stagingBuffer) empty() { b.block, b.used = 0, 0 }

func (b *stagingBuffer) close() {
	for _, host := range b.blocks {
		host.Free()
	}
}
