//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// summary is the result of sampling probe rows.
type summary struct {
	rows, matched, hot, hotKeys int64
}

// few reports whether most probe rows in the match are known to have no partner. Most
// of those that a filter passes have one.
func (r *run) few() bool {
	return r.options.Few || !r.bloom && 2*r.sampled.matched < r.sampled.rows
}

// sampling reports whether a sample is taken. The histogram looks it up, and needs
// shared memory for it.
func (r *run) sampling() bool {
	if !r.looksUp() {
		return false
	}
	switch r.options.Materialise {
	case "bypass":
		return r.Join.Probe.Rows >= sampleSlots
	case "":
		large := r.Join.Probe.Rows >= SampleFrom || r.options.Sample && r.Join.Probe.Rows >= sampleSlots
		return large && len(r.widths[0])+len(r.widths[1]) > 0
	}
	return false
}

// looksUp reports whether the histogram has enough shared memory to look up a sample.
func (r *run) looksUp() bool {
	return r.counterBytes()+r.kernels.histogram.Shared+kernels.HistogramStatic <= r.state.device.Info().SharedOptin
}

// modes returns the modes of a join without a sample.
func (o Options) modes() [2]mode {
	switch o.Materialise {
	case "um":
		return [2]mode{rowID, rowID}
	case "place":
		return [2]mode{carry, place}
	case "pack":
		return [2]mode{pack, pack}
	}
	return [2]mode{carry, carry}
}

// bypass has the kernels of joins with a bypass.
type bypass struct {
	join *driver.Kernel
	cold *driver.Kernel // the probe side's first pass, without bypassed rows
	grid int
}

// sample counts the keys, taking the sample at the same time, waits for it, and
// decides.
func (r *run) sample(ctx context.Context) error {
	sum, err := r.state.steps.Kernel("gj_sample_sum")
	if err != nil {
		return err
	}
	r.copyIn()
	r.clear()
	r.countKeys(countBuild)
	r.launch(sum, 1, hotFrom)
	r.Peek(r.d.Sample, summaryWords)
	r.phase(columnar.PhaseSummary)
	if !r.reducible() {
		r.countKeys(countProbe) // while the host decides
	}
	w, err := r.Peeked(ctx)
	if err != nil {
		return err
	}
	r.sampled = summary{rows: int64(w[sampled]), matched: int64(w[sampledMatched]), hot: int64(w[sampledHot]), hotKeys: int64(w[hotKeys])}
	if r.counted == countBuild && !r.bloom && 2*r.sampled.matched >= r.sampled.rows {
		r.countKeys(countProbe)
	}
	if err := r.decide(); err != nil {
		return err
	}
	if r.counted == countBuild && !r.bloom {
		r.countKeys(countProbe)
	}
	return nil
}

// decide chooses the modes by the sample.
func (r *run) decide() error {
	j := r.described()
	if r.sampled.rows > 0 {
		j.MatchRatio = float64(r.sampled.matched) / float64(r.sampled.rows)
		j.Hot = float64(r.sampled.hot) / float64(r.sampled.rows)
	}
	if r.sampled.hotKeys == 0 {
		j.Hot = 0
	}
	j.Shape = Shape(j, r.Join.OutputRows) // depends on hot keys and matches
	if r.counted != countBuild {          // the whole probe side is counted, too
		j.Shape = withoutBloom(j.Shape)
	}
	if r.options.Elsewhere != nil && r.options.Elsewhere(j) {
		return ErrElsewhere
	}
	m := costmodel.Materialisation{Bypass: r.sampled.hotKeys > 0, Build: costmodel.Fetch}
	if r.options.Materialise == "" {
		m = r.options.rates().Materialisation(j)
	}
	m.Bloom = m.Bloom || r.bloom
	r.Report.Predict(r.options.rates().Predict(&j, m))
	r.bloom = m.Bloom
	if err := r.follow(m); err != nil || !m.Bypass {
		return err
	}
	var err error
	if r.bypass, err = r.state.bypass(r.keyWords, r.widths, r.shapes[1]); err != nil || r.bypass != nil {
		return err
	}
	// Without a price from the model there are no kernels for the bypass.
	j.Hot = 0
	m = r.options.rates().Materialisation(j)
	r.bloom = r.bloom && r.options.Bloom == bloomOn || m.Bloom
	return r.follow(m)
}

// described is the model's description of the join before the sample.
func (r *run) described() costmodel.Resident {
	return costmodel.Resident{
		KeyBytes: 4 * r.keyWords, Rows: [2]int64{r.Join.Build.Rows, r.Join.Probe.Rows}, Payload: r.widths,
		MatchRatio: 1, ResultRows: r.Join.OutputRows,
	}
}

// follow sets the modes.
func (r *run) follow(m costmodel.Materialisation) error {
	for i, how := range [2]costmodel.Transform{m.Build, m.Probe} {
		r.modes[i] = modeOf[how]
	}
	err := r.plan()
	if errors.Is(err, errTooManyBits) {
		r.modes = [2]mode{carry, carry}
		err = r.plan()
	}
	return err
}

// bypass returns the bypass kernels for sides of the given widths and a carried probe
// side of the given shape; nil if there are none.
func (s *state) bypass(keyWords int, widths [2][]int, probe shape) (*bypass, error) {
	build, ok := bypassed(widths, probe)
	if !ok {
		return nil, nil
	}
	join, err := s.forms.Kernel(fmt.Sprintf("gj_bypass_k%d_%s_%s", keyWords, build, probe))
	if err != nil {
		return nil, err
	}
	cold, err := s.forms.Kernel(fmt.Sprintf("gj_cold_k%d_%s", keyWords, probe))
	if err != nil {
		return nil, err
	}
	return &bypass{join: join, cold: cold, grid: min(join.Grid(maxTails), maxTails/2)}, nil
}

// partitionCold joins the probe rows with hot keys, then partitions the build side and
// the remaining probe rows. The result precedes the buffers in the arena, since it
// begins first. The probe side's buffers are allocated once the number of remaining
// rows is known.
func (r *run) partitionCold(ctx context.Context) error {
	r.splitPasses()
	r.tables.outputFrom = r.Mark()
	if err := r.takeOutput(r.Join.OutputRows); err != nil {
		return err
	}
	r.takeFinal(0, r.Join.Build.Rows)
	between := r.Mark()
	r.takeFirst(0, r.Join.Build.Rows)
	if r.Err() != nil {
		return r.Err()
	}
	r.copyIn()
	r.countRest()
	r.Await(0)
	r.Await(1)
	r.launch(r.bypass.join, r.bypass.grid)
	r.Peek(r.d.Counters, counters)
	r.phase(columnar.PhaseBypass)
	r.launch(r.kernels.offsets, r.kernels.offsets.Rows, 0)
	r.phase(columnar.PhaseOffsets)
	r.firstPass(0, r.kernels.first[0])
	r.secondPass(0)
	w, err := r.Peeked(ctx)
	if err != nil {
		return err
	}
	r.cold = r.Join.Probe.Rows - int64(w[counterBypassed])
	r.Rewind(between) // free once the build side's second pass is done
	r.takeFinal(1, r.cold)
	r.takeFirst(1, r.cold)
	if r.Err() != nil {
		return r.Err()
	}
	r.copyIn()
	r.firstPass(1, r.bypass.cold)
	r.secondPass(1)
	return nil
}
