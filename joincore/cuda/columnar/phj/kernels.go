//go:build cuda

package phj

import (
	"errors"
	"fmt"
	"slices"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// state is what joins on one device share.
type state struct {
	device *driver.Context
	steps  *driver.Module  // the same for all payloads
	forms  *driver.Library // the kernels that have forms of payload
}

var states = driver.PerContext[*state]{Make: load, Release: (*state).close}

func load(d *driver.Context) (*state, error) {
	m, err := d.Load(kernels.Steps)
	if err != nil {
		return nil, err
	}
	layout, err := m.Constants("gj_layout")
	if err != nil {
		return nil, err
	}
	if want := []uint64{joinBytes, sideBytes, fieldBytes, valueBytes, sampleBytes, counters}; !slices.Equal(layout, want) {
		return nil, fmt.Errorf("the kernels' descriptor has the layout %v in place of %v", layout, want)
	}
	return &state{device: d, steps: m, forms: d.NewLibrary(kernels.Fused)}, nil
}

func (s *state) close() error { return errors.Join(s.steps.Unload(), s.forms.Unload()) }

// joinKernels are the kernels of one join.
type joinKernels struct {
	histogram, offsets, match, close *driver.Kernel
	positions, gather                *driver.Kernel // of packed payload
	first, second                    [2]*driver.Kernel
}

// aligned: the sides' columns begin at multiples of 16 bytes; few: few probe rows have a
// match.
func (s *state) joinKernels(keyWords int, shapes [2]shape, modes [2]mode, aligned [2]bool, rowIDs, few bool) (k joinKernels, err error) {
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
	if modes[0] == pack || modes[1] == pack {
		k.positions, k.gather = step("gj_positions"), step("gj_gather_packed")
	}
	for i := range k.first {
		k.first[i] = get("%s", firstKernel(keyWords, shapes[i], aligned[i]))
		k.second[i] = get("%s", secondKernel(keyWords, shapes[i], modes[i]))
	}
	m := matched(shapes, modes, rowIDs)
	how := "inner"
	if fetched := m[0] == idShape || m[1] == idShape; fetched && (few || modes[0] == place || modes[1] == place) {
		how = "listed"
	}
	k.match = get("gj_%s_k%d_%s_%s", how, keyWords, m[0], m[1])
	return k, err
}
