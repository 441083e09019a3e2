//go:build cuda

package phj

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// state is what joins on one device share.
type state struct {
	device *driver.Context
	steps  *driver.Module  // the same for all payloads
	forms  *driver.Library // the kernels that have forms of payload

	mu   sync.Mutex
	idle []*scratch
}

var states = columnar.PerContext[*state]{Make: load}

func load(d *driver.Context) (*state, error) {
	m, err := d.Load(kernels.Steps)
	if err != nil {
		return nil, err
	}
	layout, err := m.Constants("gj_layout")
	if err != nil {
		return nil, err
	}
	if want := []uint64{joinBytes, sideBytes, fieldBytes, sampleBytes, counters}; !slices.Equal(layout, want) {
		return nil, fmt.Errorf("the kernels' descriptor has the layout %v in place of %v", layout, want)
	}
	return &state{device: d, steps: m, forms: d.NewLibrary(kernels.Fused)}, nil
}

// Close frees what joins on a device have kept; none is running.
func Close(d *driver.Context) error {
	s, ok := states.Forget(d)
	if !ok {
		return nil
	}
	for _, b := range s.idle {
		b.close()
	}
	return errors.Join(s.steps.Unload(), s.forms.Unload())
}

// scratch is what one join at a time needs beside the arena.
type scratch struct {
	host  *driver.Host // page-locked: descriptor and fields to the device, counters back
	marks []*driver.Event
	ready *driver.Event // what the host decides on has been copied out
}

const (
	hostCounters = 0
	hostSummary  = hostCounters + 8*counters
	hostJoin     = hostSummary + 8*summaryWords
	hostFields   = hostJoin + joinBytes
	maxFields    = 512
	hostBytes    = hostFields + maxFields*fieldBytes

	maxMarks = 20
)

func (s *state) take() (*scratch, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		b := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return b, nil
	}
	s.mu.Unlock()
	host, err := s.device.Pinned(hostBytes)
	if err != nil {
		return nil, err
	}
	b := &scratch{host: host}
	if b.ready, err = s.device.NewEvent(false); err != nil {
		b.close()
		return nil, err
	}
	for range maxMarks {
		e, err := s.device.NewEvent(true)
		if err != nil {
			b.close()
			return nil, err
		}
		b.marks = append(b.marks, e)
	}
	return b, nil
}

// give takes a scratch back that the device does not use any more.
func (s *state) give(b *scratch) {
	s.mu.Lock()
	s.idle = append(s.idle, b)
	s.mu.Unlock()
}

func (b *scratch) close() {
	for _, e := range b.marks {
		e.Close()
	}
	if b.ready != nil {
		b.ready.Close()
	}
	b.host.Free()
}

// joinKernels are the kernels of one join.
type joinKernels struct {
	histogram, offsets, match, close *driver.Kernel
	first, second                    [2]*driver.Kernel
}

// few: few probe rows have a match.
func (s *state) joinKernels(keyWords int, shapes [2]shape, modes [2]mode, rowIDs, few bool) (k joinKernels, err error) {
	from := func(find func(string) (*driver.Kernel, error)) func(string, ...any) *driver.Kernel {
		return func(format string, args ...any) (kernel *driver.Kernel) {
			if err == nil {
				kernel, err = find(fmt.Sprintf(format, args...))
			}
			return kernel
		}
	}
	step, get := from(s.steps.Kernel), from(s.forms.Kernel)
	k.histogram = step("gj_histogram_k%d", keyWords)
	k.offsets = step("gj_offsets")
	k.close = step("gj_close")
	for i := range k.first {
		k.first[i] = get("gj_first_k%d_%s", keyWords, shapes[i])
		if modes[i] == place {
			k.second[i] = get("gj_place_k%d", keyWords)
		} else {
			k.second[i] = get("gj_second_k%d_w%d", keyWords, keyWords+shapes[i].words)
		}
	}
	m := matched(shapes, modes, rowIDs)
	how := "inner"
	if fetched := m[0] == idShape || m[1] == idShape; fetched && (few || modes[0] == place || modes[1] == place) {
		how = "listed"
	}
	k.match = get("gj_%s_k%d_%s_%s", how, keyWords, m[0], m[1])
	return k, err
}
