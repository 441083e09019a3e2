//go:build cuda

package columnar

import (
	"sync"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// deviceState is scratch that joins on one device share.
type deviceState struct {
	device *driver.Context

	mu   sync.Mutex
	idle []*scratch
}

var deviceStates = driver.PerContext[*deviceState]{
	Make:    func(d *driver.Context) (*deviceState, error) { return &deviceState{device: d}, nil },
	Release: (*deviceState).close,
}

// modules are those of the joins without partitions and of sort-merge joins.
var modules = driver.PerContext[*driver.Module]{
	Make:    func(d *driver.Context) (*driver.Module, error) { return d.Load(kernels.Sort) },
	Release: (*driver.Module).Unload,
}

// kernel returns a kernel of the module.
func (d *deviceState) kernel(name string) (*driver.Kernel, error) {
	m, err := modules.Get(d.device)
	if err != nil {
		return nil, err
	}
	return m.Kernel(name)
}

// close frees the memory kept for later joins. No join may be running.
func (d *deviceState) close() error {
	for _, s := range d.idle {
		s.close()
	}
	return nil
}

// scratch is the memory outside the arena that a join needs, used by one at a time.
type scratch struct {
	words   *driver.Host // page-locked: a few words from the device
	staging stagingBuffer
	marks   []*driver.Event
	ready   *driver.Event // the words of Peek have been copied
}

const (
	maxWords = 8
	maxMarks = 28
)

func (d *deviceState) take() (*scratch, error) {
	d.mu.Lock()
	if n := len(d.idle); n > 0 {
		s := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		return s, nil
	}
	d.mu.Unlock()
	words, err := d.device.Pinned(maxWords * 8)
	if err != nil {
		return nil, err
	}
	s := &scratch{words: words, staging: stagingBuffer{device: d.device}}
	if s.ready, err = d.device.NewEvent(false); err != nil {
		s.close()
		return nil, err
	}
	for range maxMarks {
		e, err := d.device.NewEvent(true)
		if err != nil {
			s.close()
			return nil, err
		}
		s.marks = append(s.marks, e)
	}
	return s, nil
}

// give returns a scratch for reuse; the device must no longer use it.
func (d *deviceState) give(s *scratch) {
	s.staging.empty()
	d.mu.Lock()
	d.idle = append(d.idle, s)
	d.mu.Unlock()
}

func (s *scratch) close() {
	for _, e := range s.marks {
		e.Close()
	}
	s.ready.Close()
	s.words.Free()
	s.staging.close()
}

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
