//go:build cuda

package launch

import "gpujoin/joincore/cuda/driver"

// outbox is page-locked memory for what is on its way to the device. It grows as a join needs
// it, and later joins use what it has.
type outbox struct {
	device *driver.Context
	blocks []*driver.Host
	block  int // that is in use; len(blocks): none
	used   int // bytes of it
}

// outboxBytes is the least size of a block. The descriptors of a join on one GPU fit it: a
// side's 16 columns, one at a time, take 4 KiB each. Those of 128 columns a side on 4 do not.
const outboxBytes = 256 << 10

// take returns memory for n bytes, which the device may read until empty is called.
func (o *outbox) take(n int) ([]byte, error) {
	for o.block < len(o.blocks) && o.used+n > len(o.blocks[o.block].Bytes()) {
		o.block, o.used = o.block+1, 0
	}
	if o.block == len(o.blocks) {
		host, err := o.device.Pinned(int64(max(n, outboxBytes)))
		if err != nil {
			return nil, err
		}
		o.blocks = append(o.blocks, host)
	}
	o.used += n
	return o.blocks[o.block].Bytes()[o.used-n : o.used], nil
}

// empty makes all memory free again. The device must no longer read it.
func (o *outbox) empty() { o.block, o.used = 0, 0 }

func (o *outbox) close() {
	for _, host := range o.blocks {
		host.Free()
	}
}
