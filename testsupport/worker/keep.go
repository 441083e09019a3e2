package main

import (
	"maps"
	"math"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/program"
)

// resident are the contents that a simulated device has seen. They stay until they are gone, as
// if its memory had no end.
type resident struct {
	mu      sync.Mutex
	bytes   map[uint64]int64
	version uint64
}

// see notes the contents of an input.
func (k *resident) see(r *joincore.Relation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range r.Segments {
		for _, v := range r.Segments[i].Columns {
			if v.Content == 0 || k.bytes[v.Content] > 0 {
				continue
			}
			if k.bytes == nil {
				k.bytes = map[uint64]int64{}
			}
			k.bytes[v.Content] = int64(len(v.Values))
			k.version++
		}
	}
}

// Drop, Holds, Resident, ResidentLimit, ContentsVersion and Contents are what the worker asks a provider for on
// whose device columns stay.

func (k *resident) Drop(contents []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range contents {
		delete(k.bytes, c)
	}
	k.version++
}

func (k *resident) Holds(content uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes[content] > 0
}

func (k *resident) Resident() (n int64) {
	k.Contents(func(_ uint64, bytes int64) { n += bytes })
	return n
}

// ResidentLimit is that of a device which keeps all that it has seen.
func (k *resident) ResidentLimit() int64 { return math.MaxInt64 }

func (k *resident) ContentsVersion() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.version + 1
}

func (k *resident) Contents(visit func(content uint64, bytes int64)) {
	k.mu.Lock()
	bytes := maps.Clone(k.bytes)
	k.mu.Unlock()
	for content, n := range bytes {
		visit(content, n)
	}
}

// seeing is a device that notes what it reads.
type seeing struct {
	device.Chunked
	resident *resident
	reading
}

// Import implements device.Device.
func (s *seeing) Import(input int, r *joincore.Relation) (device.Space, error) {
	s.resident.see(r)
	return s.Chunked.Import(input, r)
}

// seeingBulk is the same of whole steps.
type seeingBulk struct {
	device.Bulk
	resident *resident
	reading
}

// Import implements device.Device.
func (s *seeingBulk) Import(input int, r *joincore.Relation) (device.Space, error) {
	s.resident.see(r)
	return s.Bulk.Import(input, r)
}

// seeingTeam is the same of one that exchanges rows with others, and says how many.
type seeingTeam struct {
	seeingBulk
	exchangeReport
}

// exchangeReport is what package exec asks such a device.
type exchangeReport interface {
	Exchanged() (bytes int64, hops int)
	Met() time.Duration
}

// words is a device whose expressions read integers only, as those of GPUs do.
type words struct{ *simulated }

// Check implements device.Checker.
func (words) Check(plan *joincore.Checked) error { return program.CheckPlan(plan) }
