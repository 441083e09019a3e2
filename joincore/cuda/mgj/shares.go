//go:build cuda

package mgj

import (
	"context"
	"errors"
	"sync/atomic"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
)

// member is a GPU's part in a join.
type member struct {
	share atomic.Pointer[phj.Share] // when it is planned and, unless a filter comes first, begins to count
	ended atomic.Bool               // without success, if there is no share
	err   error
}

// execute opens the shares of all GPUs at once, runs the join on them, and closes them when all
// work is done.
func (j *join) execute(ctx context.Context) error {
	var failed error // read when the crew is closed
	j.members, j.shares = make([]member, len(j.parts)), make([]*phj.Share, len(j.parts))
	j.crew = newCrew(len(j.parts), func(c *crew, i int) {
		j.members[i].err = j.open(ctx, i, func() error {
			c.serve(i)
			return failed
		})
		j.members[i].ended.Store(true)
	})
	if failed = j.opened(); failed == nil {
		if failed = j.run(ctx); failed != nil {
			j.crew.wait()
			failed = errors.Join(failed, j.group.sync(ctx))
		}
	} // else no GPU has work for others, and each share waits for its own
	j.crew.Close()
	if failed != nil {
		return failed
	}
	var errs []error
	for i := range j.members {
		errs = append(errs, j.members[i].err)
	}
	return errors.Join(errs...)
}

// open opens the share of GPU i, begins to count its rows, and closes it when serve returns.
func (j *join) open(ctx context.Context, i int, serve func() error) error {
	m, cut := j.group.members[i], j.cut
	for _, p := range j.parts[:i] {
		cut.Before[0] += p.Build.Rows
		cut.Before[1] += p.Probe.Rows
	}
	out, report, err := phj.Together(ctx, m.Device, m.Stream, m.Arena, &j.parts[i], j.group.senders[i], cut, func(x *phj.Share) (*columnar.Output, error) {
		if !j.options.Bloom {
			if err := x.CountBuild(); err != nil {
				return nil, err
			}
		}
		j.members[i].share.Store(x)
		if !j.options.Bloom {
			x.CountProbe()
		}
		err := serve()
		return j.outputs[i], err
	})
	j.outputs[i], j.report.Members[i] = out, report
	return err
}

// opened waits until all shares are open.
func (j *join) opened() error {
	for i := range j.members {
		m := &j.members[i]
		await(func() bool { return m.share.Load() != nil || m.ended.Load() })
		if j.shares[i] = m.share.Load(); j.shares[i] == nil {
			return m.err
		}
	}
	return nil
}

// each calls f for all shares at once: work that is queued for one GPU after the other
// would begin late on the last one.
func (j *join) each(f func(i int, x *phj.Share)) {
	j.begin(f)
	j.crew.wait()
}

// begin is each, without waiting for the calls. Until they have ended, nothing else may be done
// with the shares.
func (j *join) begin(f func(i int, x *phj.Share)) {
	j.crew.start(func(i int) { f(i, j.shares[i]) })
}
