//go:build cuda

package cuda

import (
	"context"
	"crypto/sha256"
	"fmt"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/kernels"
)

// RatesKey identifies what measured rates apply to: the device, the driver's
// version and the kernels.
func (p *Provider) RatesKey() string {
	h := sha256.New()
	for _, module := range [][]byte{kernels.Steps, kernels.Sort} {
		h.Write(module)
	}
	for _, name := range kernels.FusedKernels() {
		image, _ := kernels.Fused(name) // FusedKernels has listed it
		h.Write(image)
	}
	info := p.context.Info()
	return fmt.Sprintf("%s, driver %d, kernels %x", info.UUID, info.Driver, h.Sum(nil)[:8])
}

// MeasureRates measures the device, which must be otherwise idle. The measured
// rates have no effect until they are passed to UseRates.
func (p *Provider) MeasureRates(ctx context.Context) (costmodel.DeviceRates, error) {
	s, err := p.takeWorkspace()
	if err != nil {
		return costmodel.DeviceRates{}, err
	}
	rates, err := selector.Measure(ctx, p.context, s.main.Stream(), s.arena)
	if e := s.reset(); e != nil {
		return rates, e // the device was lost
	}
	p.returnWorkspace(s)
	return rates, err
}

// Rates returns the rates in use.
func (p *Provider) Rates() costmodel.DeviceRates { return *selector.Rates(p.context) }

// UseRates sets the rates by which algorithms are chosen from now on.
func (p *Provider) UseRates(r costmodel.DeviceRates) { selector.Use(p.context, r) }
