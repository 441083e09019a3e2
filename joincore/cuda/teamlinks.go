//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/cuda/mgj"
	"gpujoin/joincore/device"
	"gpujoin/joincore/mesh"
)

// Staged implements multi's staging.
func (p *Provider) Staged(members []device.Provider) string {
	if links, err := linksOf(members); err == nil {
		return links.staged
	}
	return ""
}

// teamLinks is how rows get from one device of a team to another.
type teamLinks struct {
	mesh   *mesh.Mesh // of the devices
	staged string     // why they pass through the memory of the host; "": they do not
}

// linksOf returns the links of some providers' devices.
func linksOf(members []device.Provider) (*teamLinks, error) {
	if len(members) > phj.MaxDevices {
		return nil, fmt.Errorf("%d devices exchange no rows, at most %d do: %w", len(members), phj.MaxDevices, joincore.ErrUnsupported)
	}
	apart := checkConnected(members)
	first, ok := members[0].(*Provider)
	gpus := make([]int, len(members))
	for i, m := range members {
		p, also := m.(*Provider)
		if !ok || !also {
			return nil, apart // not all of them are of this package
		}
		if p.mesh == nil || p.mesh != first.mesh {
			return nil, fmt.Errorf("the links between devices are unknown: %w", joincore.ErrUnsupported)
		}
		gpus[i] = p.number
	}
	l := &teamLinks{}
	own, err := first.mesh.Restrict(gpus)
	if err == nil && apart != nil {
		l.staged = strings.TrimSuffix(apart.Error(), ": "+joincore.ErrUnsupported.Error())
		own, err = own.Staged()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", joincore.ErrUnsupported, err)
	}
	l.mesh = own
	return l, nil
}

// checkMemory returns an error if one of several devices has too little memory for its share of a join
// whose rows are exchanged.
func (l *teamLinks) checkMemory(x *device.Exchange, members int, memory int64) error {
	return checkTeamMemory(x, members, memory, l.staged != "")
}

// join joins the rows of devices that exchange them. result is the expected number of rows of all of them; 0:
// unknown.
func (l *teamLinks) join(ctx context.Context, members []mgj.Member, joins []columnar.Join, result int64, host fabric.HostMemory) (outputs []*columnar.Output, report *mgj.Report, err error) {
	var g *mgj.Group
	if l.staged == "" {
		g, err = mgj.Open(members, l.mesh)
	} else {
		var ordinals []int
		for _, m := range members {
			ordinals = append(ordinals, m.Device.Info().Ordinal)
		}
		f, e := fabric.Open(l.mesh, fabric.Options{Devices: ordinals, Staged: true, Host: host})
		if e != nil {
			return nil, nil, e
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		g, err = mgj.OpenStaged(members, f)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	return g.Join(ctx, joins, mgj.Options{Strategy: mgj.Exchange, Bloom: g.Filters(joins, result)})
}

// staging is a fabric.HostMemory: that of joins out of core, charged to the job.
func (e *execution) staging(bytes int64) ([]byte, func() error, error) {
	return e.workspace.gpu.outOfCore.Staging(e.mem, bytes)
}
