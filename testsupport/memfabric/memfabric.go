// Package memfabric is the memory of simulated GPUs for tests, and the copies between them. Each GPU
// has host memory of its own, poisoned before it is written and after it is freed; copies cross the
// links of a mesh, those over one hop in order, those over different hops at the same time.
//
// It panics if a copy does not begin and end at the GPUs of its hop, leaves a buffer, or
// uses one that is freed.
package memfabric

import (
	"fmt"
	"sync"
	"sync/atomic"

	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
)

// Content of memory before it is written, and after it is freed.
const (
	fresh = 0xA5
	freed = 0x5A
)

// Fabric implements live.Fabric.
type Fabric struct {
	mesh  *mesh.Mesh
	lines []line // by hop
	// Before, if set, is called before each copy, whose number counts from 1. An
	// error fails the copy.
	Before func(copy int64) error

	copies atomic.Int64
	bytes  atomic.Int64
	live   atomic.Int64 // buffers
}

// New returns the GPUs of a mesh.
func New(m *mesh.Mesh) *Fabric { return &Fabric{mesh: m, lines: make([]line, len(m.Hops()))} }

// Mesh implements live.Fabric.
func (f *Fabric) Mesh() *mesh.Mesh { return f.mesh }

// Copied returns how many copies and bytes have been copied.
func (f *Fabric) Copied() (copies, bytes int64) { return f.copies.Load(), f.bytes.Load() }

// Buffers returns how many buffers are not freed.
func (f *Fabric) Buffers() int64 { return f.live.Load() }

// Memory is memory of a GPU.
type Memory struct {
	gpu   int
	mu    sync.Mutex // of gone; copies of disjoint bytes need no other lock
	gone  bool
	bytes []byte
}

// Bytes returns the content.
func (m *Memory) Bytes() []byte { return m.bytes }

// Alloc implements live.Fabric.
func (f *Fabric) Alloc(gpu int, bytes int64) (live.Buffer, error) {
	if gpu < 0 || gpu >= f.mesh.GPUs() || bytes < 1 {
		panic(fmt.Sprintf("%d bytes of GPU %d", bytes, gpu))
	}
	m := &Memory{gpu: gpu, bytes: make([]byte, bytes)}
	fill(m.bytes, fresh)
	f.live.Add(1)
	return m, nil
}

// Free implements live.Fabric.
func (f *Fabric) Free(b live.Buffer) {
	m := b.(*Memory)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		panic("freed twice")
	}
	m.gone = true
	fill(m.bytes, freed)
	f.live.Add(-1)
}

// Device implements live.Fabric: each GPU is a device.
func (f *Fabric) Device(gpu int) int { return gpu }

// Poll implements live.Fabric.
func (f *Fabric) Poll(int) bool { return false }

// Copy implements live.Fabric.
func (f *Fabric) Copy(hop *mesh.Hop, pieces []live.Piece, done func(error)) {
	f.lines[hop.ID].put(func() {
		var err error
		number := f.copies.Add(1)
		if f.Before != nil {
			err = f.Before(number)
		}
		if err == nil {
			for _, p := range pieces {
				from, to := at(p.From, hop.From, p.Bytes), at(p.To, hop.To, p.Bytes)
				f.bytes.Add(int64(copy(to, from)))
			}
		}
		done(err)
	})
}

// at returns bytes of a place, which has to be on a GPU.
func at(p live.Place, gpu int, bytes int64) []byte {
	m := p.Buffer.(*Memory)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone || m.gpu != gpu {
		panic(fmt.Sprintf("copy with memory of GPU %d (freed: %v) over a hop of GPU %d", m.gpu, m.gone, gpu))
	}
	return m.bytes[p.Offset : p.Offset+bytes]
}

// line carries out the copies over one hop. Its goroutine ends when there are none.
type line struct {
	mu   sync.Mutex
	list []func()
	busy bool
}

func (l *line) put(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, do)
	if !l.busy {
		l.busy = true
		go l.run()
	}
}

func (l *line) run() {
	for {
		l.mu.Lock()
		if len(l.list) == 0 {
			l.busy = false
			l.mu.Unlock()
			return
		}
		do := l.list[0]
		l.list = l.list[1:]
		l.mu.Unlock()
		do()
	}
}

// fill sets all bytes.
func fill(b []byte, x byte) {
	if len(b) > 0 {
		b[0] = x
	}
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}
