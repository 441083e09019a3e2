//go:build cuda

package mgj

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/launch"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/selector"
	"gpujoin/joincore/mesh"
)

// Member is a GPU of a group. Two members may be the same device.
type Member struct {
	Device *driver.Context
	Stream *driver.Stream
	Arena  *driver.Arena // that the devices of all members can access
}

// Group is GPUs that join together. One goroutine uses it at a time.
type Group struct {
	members []Member
	senders []*phj.Sender
	mesh    *mesh.Mesh
}

// Open makes a group of the GPUs of a mesh. ErrUnsupported: one of them cannot access the
// memory of another one. Close frees what the group has created.
func Open(members []Member, m *mesh.Mesh) (_ *Group, err error) {
	if len(members) != m.GPUs() || len(members) > phj.MaxDevices {
		return nil, fmt.Errorf("mgj: %d devices for %d GPUs: %w", len(members), m.GPUs(), joincore.ErrUnsupported)
	}
	g := &Group{members: members, mesh: m}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	for _, x := range members {
		if x.Device.HashSeed() != members[0].Device.HashSeed() {
			return nil, fmt.Errorf("mgj: devices with different hash seeds: %w", joincore.ErrUnsupported)
		}
		for _, y := range members {
			ok, err := x.Device.Reaches(y.Device)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, fmt.Errorf("mgj: device %d does not reach device %d: %w", x.Device.Info().Ordinal, y.Device.Info().Ordinal, joincore.ErrUnsupported)
			}
		}
		s, err := phj.NewSender(x.Device)
		if err != nil {
			return nil, err
		}
		g.senders = append(g.senders, s)
	}
	return g, nil
}

// Choose returns how a join of all GPUs' rows is executed fastest, wherever they lie: before
// rows are brought to GPUs, it says to how many.
func (g *Group) Choose(j *columnar.Join) Choice {
	r := costmodel.Resident{KeyBytes: j.Build.Key.Bytes, Rows: [2]int64{j.Build.Rows, j.Probe.Rows}, MatchRatio: 1, ResultRows: j.OutputRows}
	for i, side := range []*columnar.Side{&j.Build, &j.Probe} {
		r.Payload[i] = launch.Widths(side.Payload)
		if j.RowIDs {
			r.Payload[i] = []int{4} // carried like a column
		}
	}
	return Choose(selector.Rates(g.members[0].Device), r, len(g.members), g.gbps())
}

// gbps returns the rate of the slowest of the links, one for each two GPUs.
func (g *Group) gbps() float64 {
	const large = 1 << 30
	slowest := math.Inf(1)
	for from := range g.members {
		for to := range g.members {
			fastest := 0.0
			for _, h := range g.mesh.Direct(from, to) {
				fastest = max(fastest, g.mesh.Effective(h, large))
			}
			if from != to {
				slowest = min(slowest, fastest)
			}
		}
	}
	return slowest
}

// Close waits for the group's streams and frees them.
func (g *Group) Close() error {
	var errs []error
	for _, s := range g.senders {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// sync waits for the work of all members, whatever becomes of it: what one has queued
// writes into the memory of others.
func (g *Group) sync(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for i, m := range g.members {
		errs = append(errs, g.senders[i].Stream().Sync(ctx), m.Stream.Sync(ctx))
	}
	return errors.Join(errs...)
}
