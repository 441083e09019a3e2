package run

import (
	"gpujoin/joincore/algo"
	"gpujoin/joincore/device"
)

// flow is a part of the plan that is ready to run: a source, and the steps
// that its chunks take.
type flow struct {
	source  algo.Source
	steps   []step
	extra   *algo.Leftover // of the source
	release []func()       // when it has run
}

// step is a step of a flow, with the build rows that it returns in the end.
type step struct {
	algo.Step
	extra *algo.Leftover
}

// stages puts the sources of a flow in order: what a join returns after all
// probing passes through the steps behind it.
func (f *flow) stages() []algo.Stage {
	steps := make([]algo.Step, len(f.steps))
	for i, s := range f.steps {
		steps[i] = s.Step
	}
	out := []algo.Stage{{Source: f.source, Steps: steps}}
	if f.extra != nil {
		out = append(out, algo.Stage{Source: f.extra, Steps: steps})
	}
	for i, s := range f.steps {
		if s.extra != nil {
			out = append(out, algo.Stage{Source: s.extra, Steps: steps[i+1:]})
		}
	}
	return out
}

// plain returns the space of a flow that is nothing but a scan.
func (f *flow) plain() (device.Space, bool) {
	if s, ok := f.source.(*algo.Scan); ok && len(f.steps) == 0 {
		return s.Space(), true
	}
	return nil, false
}
