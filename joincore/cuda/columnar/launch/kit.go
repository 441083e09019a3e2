//go:build cuda

package launch

import (
	"sync"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// kit is what joins on one device share: the module, and what joins at rest
// have left for the next one.
type kit struct {
	device *driver.Context
	module *driver.Module

	mu   sync.Mutex
	idle []*scratch
}

var kits = columnar.PerContext[*kit]{Make: func(d *driver.Context) (*kit, error) {
	m, err := d.Load(kernels.Sort)
	if err != nil {
		return nil, err
	}
	return &kit{device: d, module: m}, nil
}}

// Close frees what joins on a device have kept; none is running.
func Close(d *driver.Context) error {
	k, ok := kits.Forget(d)
	if !ok {
		return nil
	}
	for _, s := range k.idle {
		s.close()
	}
	return k.module.Unload()
}

// scratch is what one join at a time needs beside the arena.
type scratch struct {
	host  *driver.Host // page-locked: a few words back, then descriptors to the device
	marks []*driver.Event
}

const (
	hostWords       = 0
	hostDescriptors = 4 * 8
	hostBytes       = 256 << 10 // a side's 16 columns one at a time take 4 KiB each

	maxMarks = 8
)

func (k *kit) take() (*scratch, error) {
	k.mu.Lock()
	if n := len(k.idle); n > 0 {
		s := k.idle[n-1]
		k.idle = k.idle[:n-1]
		k.mu.Unlock()
		return s, nil
	}
	k.mu.Unlock()
	host, err := k.device.Pinned(hostBytes)
	if err != nil {
		return nil, err
	}
	s := &scratch{host: host}
	for range maxMarks {
		e, err := k.device.NewEvent(true)
		if err != nil {
			s.close()
			return nil, err
		}
		s.marks = append(s.marks, e)
	}
	return s, nil
}

// give takes a scratch back that the device does not use any more.
func (k *kit) give(s *scratch) {
	k.mu.Lock()
	k.idle = append(k.idle, s)
	k.mu.Unlock()
}

func (s *scratch) close() {
	for _, e := range s.marks {
		e.Close()
	}
	s.host.Free()
}
