package links

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gpujoin/joincore/mesh"
)

// Facts is what is known of the GPUs of a machine.
type Facts struct {
	Driver  string   `json:"driver"` // version
	Devices []Device `json:"devices"`
	Pairs   []Pair   `json:"pairs"` // all pairs of different devices, in both directions
	// AllGBps is what all pairs that reach each other copied at once, together.
	AllGBps float64 `json:"all_gbps"`
	// Apart: devices do not access each other's memory, whether they could or not.
	Apart bool     `json:"apart,omitempty"`
	Notes []string `json:"notes,omitempty"` // what could not be found out, and why
}

// Device is a GPU.
type Device struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
	PCI  string `json:"pci"`
	NUMA int    `json:"numa"` // node; -1: unknown
	// NVLinks is how many links are active, and to which device each of them leads
	// where Pair.NVLinks says so; the others lead to switches.
	NVLinks int `json:"nvlinks"`
	// Rates of copies between page-locked host memory and the device, in GB/s: in
	// each direction alone, and the sum of both at once. 0: not measured.
	ToDevice float64 `json:"to_device_gbps"`
	ToHost   float64 `json:"to_host_gbps"`
	BothWays float64 `json:"both_ways_gbps"`
}

// Pair is one direction between two devices, which are numbered from 0.
type Pair struct {
	From    int    `json:"from"`
	To      int    `json:"to"`
	Peer    bool   `json:"peer"`    // From copies directly into To's memory
	NVLinks int    `json:"nvlinks"` // that connect the two without a switch
	Path    string `json:"path"`    // over PCIe; "": unknown
	// Sizes are the measured copies, which follow each other on one stream.
	Sizes []Size `json:"sizes,omitempty"`
	// BothWays is the rate of each direction, in GB/s, while both are busy.
	BothWays float64 `json:"both_ways_gbps"`
	// Latency is the time of a copy of a few bytes, from the call that posts it
	// until the host sees it complete.
	Latency time.Duration `json:"latency_ns"`
}

// Size is the rate of copies of one size.
type Size struct {
	Bytes int64   `json:"bytes"`
	GBps  float64 `json:"gbps"`
}

// ErrFacts is wrapped by errors about facts that contradict themselves.
var ErrFacts = errors.New("invalid topology")

// mostText bounds names in a file.
const mostText = 256

func (f *Facts) check() error {
	n := len(f.Devices)
	if n == 0 || n > mesh.MostGPUs || len(f.Pairs) > n*(n-1) || len(f.Notes) > 64 || len(f.Driver) > mostText {
		return fmt.Errorf("%w: %d devices, %d pairs, %d notes", ErrFacts, n, len(f.Pairs), len(f.Notes))
	}
	for i, d := range f.Devices {
		if d.UUID == "" || len(d.UUID) > mostText || len(d.Name) > mostText || len(d.PCI) > mostText ||
			d.NUMA < -1 || d.NUMA > 1<<10 || d.NVLinks < 0 || d.NVLinks > 256 || !areRates(d.ToDevice, d.ToHost, d.BothWays) {
			return fmt.Errorf("%w: device %d: %+v", ErrFacts, i, d)
		}
		if slices.ContainsFunc(f.Devices[:i], func(o Device) bool { return o.UUID == d.UUID }) {
			return fmt.Errorf("%w: device %s twice", ErrFacts, d.UUID)
		}
	}
	seen := map[[2]int]bool{}
	for _, p := range f.Pairs {
		key := [2]int{p.From, p.To}
		if p.From < 0 || p.From >= n || p.To < 0 || p.To >= n || p.From == p.To || seen[key] || p.NVLinks < 0 || p.NVLinks > 256 ||
			len(p.Path) > mostText || len(p.Sizes) > 64 || !areRates(p.BothWays) || p.Latency < 0 || p.Latency > time.Second {
			return fmt.Errorf("%w: pair %+v", ErrFacts, p)
		}
		seen[key] = true
		for _, s := range p.Sizes {
			if s.Bytes < 1 || s.Bytes > 1<<40 || s.GBps <= 0 || !areRates(s.GBps) {
				return fmt.Errorf("%w: %d bytes at %v GB/s", ErrFacts, s.Bytes, s.GBps)
			}
		}
	}
	if !areRates(f.AllGBps) {
		return fmt.Errorf("%w: %v GB/s", ErrFacts, f.AllGBps)
	}
	return nil
}

func areRates(list ...float64) bool {
	for _, r := range list {
		if !(r >= 0 && r <= 1e6) {
			return false
		}
	}
	return true
}

// apart returns the facts about devices that do not access each other's memory, although they may: copies
// between them were not measured.
func (f *Facts) apart() *Facts {
	own := *f
	own.Apart, own.AllGBps, own.Pairs = true, 0, nil
	for _, p := range f.Pairs {
		own.Pairs = append(own.Pairs, Pair{From: p.From, To: p.To, Path: p.Path})
	}
	return &own
}

// pair returns the facts about one direction between two devices.
func (f *Facts) pair(from, to int) Pair {
	for _, p := range f.Pairs {
		if p.From == from && p.To == to {
			return p
		}
	}
	return Pair{From: from, To: to}
}

// fitLine returns the bandwidth, in GB/s, and the size that reaches half of it: the line
// through the times of copies, with errors relative to the times. It returns zeros for
// no sizes.
func fitLine(sizes []Size) (gbps float64, half int64) {
	var w, x, y, xx, xy float64
	best := 0.0
	for _, s := range sizes {
		t := float64(s.Bytes) / s.GBps // ns
		weight := 1 / (t * t)
		b := float64(s.Bytes)
		w += weight
		x += weight * b
		y += weight * t
		xx += weight * b * b
		xy += weight * b * t
		best = max(best, s.GBps)
	}
	if len(sizes) == 0 {
		return 0, 0
	}
	slope := (w*xy - x*y) / (w*xx - x*x) // ns a byte
	base := (y - slope*x) / w
	if len(sizes) < 2 || !(slope > 0) || math.IsInf(slope, 0) {
		return best, 0
	}
	return 1 / slope, max(int64(base/slope), 0)
}
