package bulk

import (
	"context"

	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// method is how a build side is matched.
type method interface {
	// probe returns the stage that joins a space, and a function that frees it.
	probe(ctx context.Context, s *space, inner device.Space) (exec.Stage, func(), error)
	// space waits for the build rows with their marks.
	space(ctx context.Context) (device.Space, error)
	release()
}

// unpartitioned matches by one hash table of the whole build side.
type unpartitioned struct {
	*join
	table  device.Table
	inside device.Space
}

func (u *unpartitioned) probe(ctx context.Context, _ *space, inner device.Space) (exec.Stage, func(), error) {
	step := &exec.ProbeStep{Context: ctx, Plan: u.plan, Table: u.table, Counter: &u.counter}
	return exec.Stage{Source: exec.NewScan(u.dev.inner, inner), Steps: []exec.Step{step}}, func() {}, nil
}

func (u *unpartitioned) space(context.Context) (device.Space, error) { return u.inside, nil }
func (u *unpartitioned) release()                                    { u.table.Release() }

// transformed matches a partitioned or sorted build side.
type transformed struct {
	*join
	inside exec.Transformed
}

func (t *transformed) probe(ctx context.Context, s *space, inner device.Space) (exec.Stage, func(), error) {
	matches, err := t.inside.Probe(ctx, t.side(s, inner, t.spec.Probe, t.spec.KeepProbe))
	if err != nil {
		return exec.Stage{}, nil, err
	}
	return exec.Stage{Source: matches}, matches.Release, nil
}

func (t *transformed) space(ctx context.Context) (device.Space, error) {
	return t.inside.Space(), t.inside.Await(ctx)
}
func (t *transformed) release() { t.inside.Release() }
