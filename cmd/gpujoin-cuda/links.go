//go:build cuda

package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"gpujoin/joincore/cuda"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/links"
	"gpujoin/sidecar/worker/child"
)

// deviceLinks is what is known of how devices are connected.
type deviceLinks struct {
	facts *links.Facts // nil: nothing
	note  string       // why
}

// connections reads how the devices are connected from a file, or measures it and writes
// the file. There is nothing to measure of one device, or where jobs use one.
func connections(s settings, infos []driver.Info, log *slog.Logger) deviceLinks {
	if len(infos) < 2 || s.devices == 1 || s.mesh == "" {
		return deviceLinks{}
	}
	ctx := context.Background()
	facts, err := links.CachedFacts(ctx, s.mesh, ordinals(infos), s.apart())
	if errors.Is(err, links.ErrFacts) { // the file is damaged
		log.Warn("measuring the connections of devices again", "error", err)
		if facts, err = links.Discover(ctx, ordinals(infos), s.apart()); err == nil {
			err = facts.Save(s.mesh)
		}
	}
	if err != nil {
		log.Warn("could not find out how devices are connected", "error", err)
		if facts == nil {
			return deviceLinks{note: err.Error()}
		}
	}
	log.Info("connections of devices", "devices", len(facts.Devices), "all_gbps", facts.AllGBps)
	return deviceLinks{facts: facts}
}

// describe lists the links of the devices that have been opened, and sets the rate of
// copies between them.
func (l deviceLinks) describe(m *child.Machine, providers []*cuda.Provider) {
	if l.facts == nil {
		if l.note != "" {
			m.Devices[0].Note = "links between devices are unknown: " + l.note
		}
		return
	}
	number := func(device int) (int, bool) {
		if device == links.Host {
			return child.Host, true
		}
		i := slices.IndexFunc(providers, func(p *cuda.Provider) bool { return p.Info().UUID == l.facts.Devices[device].UUID })
		return i, i >= 0
	}
	slowest, all := 0.0, true
	m.Jobs.StagedGB = l.stagedGB(providers)
	for _, c := range l.facts.Connections() {
		from, ok := number(c.From)
		to, also := number(c.To)
		if !ok || !also {
			continue
		}
		m.Links = append(m.Links, child.Link{From: from, To: to, Kind: c.Kind, GBps: c.GBps, Latency: c.Latency, Note: c.Note})
		if from != child.Host && to != child.Host {
			all = all && c.Direct && slices.Contains(providers[from].Peers(), providers[to].Info().Ordinal)
			if slowest == 0 || c.GBps < slowest {
				slowest = c.GBps
			}
		}
	}
	if all {
		m.Jobs.PeerGB = slowest
	}
	l.choose(m, providers)
}

// stagedGB returns the rate at which each of some devices sends to the memory of the host while it
// receives as much from there; 0: it was not measured on one of them.
func (l deviceLinks) stagedGB(providers []*cuda.Provider) (gbps float64) {
	for i, p := range providers {
		n := slices.IndexFunc(l.facts.Devices, func(d links.Device) bool { return d.UUID == p.Info().UUID })
		if n < 0 {
			return 0
		}
		if own := l.facts.Devices[n].BothWays / 2; i == 0 || own < gbps {
			gbps = own
		}
	}
	return gbps
}

// choose has jobs run on devices that are well connected, and tells these how they are.
func (l deviceLinks) choose(m *child.Machine, providers []*cuda.Provider) {
	mesh, err := l.facts.Mesh()
	if err != nil {
		return // the devices are taken in their order
	}
	gpus := make([]int, len(providers)) // of the mesh, by device
	for i, p := range providers {
		gpus[i] = slices.IndexFunc(l.facts.Devices, func(d links.Device) bool { return d.UUID == p.Info().UUID })
		p.UseMesh(mesh, gpus[i])
	}
	m.Jobs.Best = func(list []int, n int) []int {
		named := make([]int, len(list))
		for i, d := range list {
			named[i] = gpus[d]
		}
		set := mesh.BestWith(named, n)
		for i, g := range set {
			set[i] = list[slices.Index(named, g)]
		}
		return set
	}
}
