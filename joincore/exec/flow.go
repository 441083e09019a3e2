package exec

import (
	"gpujoin/joincore/device"
)

// flow is a part of the plan that is ready to run: a source and the steps that
// process its chunks.
type flow struct {
	source  Source
	steps   []step
	extra   *Leftover // of the source
	release []func()  // called after the flow has run
}

// step is a step of a flow, with the build rows that it returns in the end.
type step struct {
	Step
	extra *Leftover
}

// stages orders the sources of a flow: rows that a join returns after all
// probing pass through the steps behind it.
func (f *flow) stages() []Stage {
	steps := make([]Step, len(f.steps))
	for i, s := range f.steps {
		steps[i] = s.Step
	}
	out := []Stage{{Source: f.source, Steps: steps}}
	if f.extra != nil {
		out = append(out, Stage{Source: f.extra, Steps: steps})
	}
	for i, s := range f.steps {
		if s.extra != nil {
			out = append(out, Stage{Source: s.extra, Steps: steps[i+1:]})
		}
	}
	return out
}

// close releases what the flow holds.
func (f *flow) close() {
	for _, release := range f.release {
		release()
	}
}

// plain returns the space of a flow that consists of a scan alone.
func (f *flow) plain() (device.Space, bool) {
	if s, ok := f.source.(*Scan); ok && len(f.steps) == 0 {
		return s.Space(), true
	}
	return nil, false
}
