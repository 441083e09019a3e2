//go:build cuda

package mgj

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
)

// Member is a GPU of a group. Two members may be the same device.
type Member struct {
	Device *driver.Context
	Stream *driver.Stream
	Arena  *driver.Arena // that the devices of all members can access
	Sender *phj.Sender   // of the member's rows, which no other group uses meanwhile; nil: the group makes one
}

// Group is GPUs that join together. One goroutine uses it at a time.
type Group struct {
	members []Member
	senders []*phj.Sender // of all members
	made    []*phj.Sender // those that the group has made
	keys    phj.KeyCounts // of the probe side's sample
	mesh    *mesh.Mesh
	through copier // of rows; nil: GPUs store into each other's memory
	copies  bool   // an exchange copies rows, if there are enough of them
}

// copier copies between memory of GPUs that the caller has: a fabric.
type copier interface {
	live.Fabric
	Own(gpu int, at driver.Ptr) live.Buffer
}

// Open makes a group of the GPUs of a mesh. ErrUnsupported: one of them cannot access the
// memory of another one. Close frees what the group has created.
func Open(members []Member, m *mesh.Mesh) (*Group, error) {
	for _, x := range members {
		for _, y := range members {
			ok, err := x.Device.Reaches(y.Device)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, fmt.Errorf("mgj: device %d does not reach device %d: %w", x.Device.Info().Ordinal, y.Device.Info().Ordinal, joincore.ErrUnsupported)
			}
		}
	}
	return open(members, m, nil)
}

// OpenStaged makes a group of the GPUs of a fabric, each on the device of the member with its
// number. A GPU's first pass leaves rows for others in its own memory, and the fabric copies
// them, over other GPUs where that is faster. The caller closes the fabric after the group.
func OpenStaged(members []Member, f *fabric.Fabric) (*Group, error) {
	for i, x := range members {
		if i < f.Mesh().GPUs() && f.Context(i).Info().Ordinal != x.Device.Info().Ordinal {
			return nil, fmt.Errorf("mgj: GPU %d is on device %d, and on device %d of the fabric", i, x.Device.Info().Ordinal, f.Context(i).Info().Ordinal)
		}
	}
	return open(members, f.Mesh(), f)
}

func open(members []Member, m *mesh.Mesh, through copier) (_ *Group, err error) {
	if len(members) != m.GPUs() || len(members) > phj.MaxDevices {
		return nil, fmt.Errorf("mgj: %d devices for %d GPUs: %w", len(members), m.GPUs(), joincore.ErrUnsupported)
	}
	g := &Group{members: members, mesh: m, through: through}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	for _, x := range members {
		if x.Device.HashSeed() != members[0].Device.HashSeed() {
			return nil, fmt.Errorf("mgj: devices with different hash seeds: %w", joincore.ErrUnsupported)
		}
		s := x.Sender
		if s == nil {
			if s, err = phj.NewSender(x.Device); err != nil {
				return nil, err
			}
			g.made = append(g.made, s)
		}
		g.senders = append(g.senders, s)
	}
	memory := members[0].Device.Info().MemoryGBps
	g.copies = fastMemory(float64(memory), g.gbps())
	return g, nil
}

// Choose returns how a join of all GPUs' rows is executed fastest, wherever they lie: before
// rows are brought to GPUs, it says to how many.
func (g *Group) Choose(j *columnar.Join) Choice {
	return Choose(selector.Rates(g.members[0].Device), resident(j), len(g.members), g.gbps())
}

// Options returns the options by which a group executes a join so.
func (c Choice) Options() Options { return Options{Strategy: c.Strategy, Bloom: c.Bloom} }

// Predict returns what Choose chooses from.
func (g *Group) Predict(j *columnar.Join) []Choice {
	return Predict(selector.Rates(g.members[0].Device), resident(j), len(g.members), g.gbps())
}

// Filters reports whether an exchange of the rows of all parts is predicted to take less time after a filter of the
// build keys. result is the expected number of rows of all; 0: unknown.
func (g *Group) Filters(parts []columnar.Join, result int64) bool {
	all := parts[0]
	all.OutputRows = result
	for _, p := range parts[1:] {
		all.Build.Rows += p.Build.Rows
		all.Probe.Rows += p.Probe.Rows
	}
	t := costmodel.Team{Devices: len(parts), GBps: g.gbps()}
	_, bloom, _ := t.Exchange(selector.Rates(g.members[0].Device), part(resident(&all), len(parts)))
	return bloom
}

// resident describes a join.
func resident(j *columnar.Join) costmodel.Resident {
	r := costmodel.Resident{KeyBytes: j.Build.Key.Bytes, Rows: [2]int64{j.Build.Rows, j.Probe.Rows}, ResultRows: j.OutputRows}
	for i, side := range []*columnar.Side{&j.Build, &j.Probe} {
		r.Payload[i] = columnar.Widths(side.Payload)
		if j.RowIDs {
			r.Payload[i] = []int{4} // carried like a column
		}
	}
	return r.Matching()
}

// gbps returns what a GPU sends to the others while it receives as much: the rate of the
// slowest link, if there is one for each two GPUs, else that of the narrowest cut of the
// mesh into halves.
func (g *Group) gbps() float64 {
	if n := len(g.members); g.through != nil && n > 1 {
		_, cut := g.mesh.Bisection()
		return cut * float64(n-1) / float64(n/2*(n-n/2))
	}
	const large = 1 << 30
	longest := time.Duration(0)
	for from := range g.members {
		for to := range g.members {
			if from == to {
				continue
			}
			fastest := time.Duration(math.MaxInt64)
			for _, h := range g.mesh.Direct(from, to) {
				fastest = min(fastest, h.Time(large))
			}
			longest = max(longest, fastest)
		}
	}
	return large / float64(longest)
}

// Close waits for the streams that the group has made and frees them.
func (g *Group) Close() error {
	var errs []error
	for _, s := range g.made {
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
		errs = append(errs, g.senders[i].Sync(ctx), m.Stream.Sync(ctx))
	}
	return errors.Join(errs...)
}
