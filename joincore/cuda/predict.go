//go:build cuda

package cuda

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/device"
)

// phaseTransfer is the time for which a join waits for uploads of columns.
const phaseTransfer = columnar.PhaseTransfer

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// crossing returns the predicted time to upload the columns that a join reads
// of a side, as far as they are still on the host.
func (e *execution) crossing(s *space, key *device.Key, residual joincore.Expr, keep device.Keep) time.Duration {
	bytes := 0.0
	for input, m := range s.members {
		for _, c := range e.columnsRead(input, key, residual, keep) {
			if !m.view.there(c) {
				rows := float64(m.view.missing(c)) / float64(m.view.sharers())
				bytes += rows * float64(e.describe(joincore.ColumnRef{Input: input, Column: c}).Width)
			}
		}
	}
	return milliseconds(bytes / selector.Rates(e.workspace.gpu.context).LinkInGB / 1e6)
}

// PredictReturn returns the predicted time to download the given number of
// bytes of a result.
func (e *execution) PredictReturn(bytes int64) time.Duration {
	return milliseconds(float64(bytes) / selector.Rates(e.workspace.gpu.context).LinkOutGB / 1e6)
}

// predictNumbers returns the predicted time of the steps of a join by row id,
// without transfers: preparing the build side, and partitioning and matching
// the probe side. It uses the planner's estimates and the model of the fused
// kernels, which carry row ids in the same way.
func (e *execution) predictNumbers(spec *device.JoinSpec, buildRows int64) (prepare, probe time.Duration) {
	const number = 4
	j := costmodel.Resident{
		KeyBytes: e.keyBytes(spec.Build), Rows: [2]int64{buildRows, spec.ProbeRows}, Payload: [2][]int{{number}, {number}},
		MatchRatio: 1, ResultRows: spec.ResultRows,
	}
	j = selector.Describe(j, max(spec.ResultRows, spec.ProbeRows), 0)
	r := selector.Rates(e.workspace.gpu.context)
	if spec.Algorithm == joincore.NPJ {
		p := r.PredictTable(&j)
		return milliseconds(p.Of(costmodel.PhaseBuild)), milliseconds(p.Of(costmodel.PhaseProbe))
	}
	p := r.Predict(&j, costmodel.Materialisation{})
	prepared := p.Of(costmodel.PhaseBuildSide) + p.Of(costmodel.PhaseHistogram)/2
	return milliseconds(prepared), milliseconds(p.MS() - prepared)
}

// keyBytes returns the width of the partitioned key: a narrow key or a hash.
func (e *execution) keyBytes(k *device.Key) int {
	if len(k.Parts) == 1 && k.Exact && e.describe(k.Parts[0].Column).Width <= 4 {
		return 4
	}
	return 8
}

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
