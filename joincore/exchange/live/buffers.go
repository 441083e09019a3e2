package live

import "gpujoin/joincore/exchange"

// buffers are the receive buffers of all GPUs: for each neighbour and class some slots.
type buffers struct {
	fabric  Fabric
	config  exchange.Config
	of      []Buffer // by GPU; nil: nothing is forwarded
	ordinal [][]int  // by GPU and neighbour: which part is the neighbour's
}

func newBuffers(f Fabric, c exchange.Config) (*buffers, error) {
	m := f.Mesh()
	b := &buffers{fabric: f, config: c, of: make([]Buffer, m.GPUs()), ordinal: make([][]int, m.GPUs())}
	for gpu := range m.GPUs() {
		b.ordinal[gpu] = make([]int, m.GPUs())
		count := 0
		for from := range m.GPUs() {
			b.ordinal[gpu][from] = count
			if exchange.Forwards(m, from, gpu) {
				count++
			}
		}
		bytes := c.BufferBytes(m, gpu)
		if bytes == 0 {
			continue
		}
		var err error
		if b.of[gpu], err = f.Alloc(gpu, bytes); err != nil {
			b.free()
			return nil, err
		}
	}
	return b, nil
}

func (b *buffers) free() {
	for _, x := range b.of {
		if x != nil {
			b.fabric.Free(x)
		}
	}
}

// slot returns where a slot is that a neighbour of a GPU fills.
func (b *buffers) slot(gpu, neighbour, class, slot int) Place {
	slots := (b.ordinal[gpu][neighbour]*b.config.Mid+class)*b.config.Slots + slot
	return Place{b.of[gpu], int64(slots) * b.config.Packet}
}
