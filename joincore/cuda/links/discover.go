//go:build cuda

package links

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore/cuda/driver"
)

// Discover finds out about devices and measures them, which takes about a second for each
// pair. No ordinals mean all devices that this process sees. The devices should be idle.
func Discover(ctx context.Context, ordinals []int) (*Facts, error) {
	f, infos, err := describeDevices(ordinals)
	if err != nil {
		return nil, err
	}
	return f, measureFacts(ctx, f, infos)
}

// CachedFacts returns the facts in a file, if they are about the same devices and driver, or
// those that it discovers and writes there.
func CachedFacts(ctx context.Context, path string, ordinals []int) (*Facts, error) {
	f, infos, err := describeDevices(ordinals)
	if err != nil {
		return nil, err
	}
	var uuids []string
	for _, d := range f.Devices {
		uuids = append(uuids, d.UUID)
	}
	if old, err := LoadFacts(path, uuids, f.Driver); old != nil || err != nil {
		return old, err
	}
	if err := measureFacts(ctx, f, infos); err != nil {
		return nil, err
	}
	return f, f.Save(path)
}

// describeDevices returns what is known without a measurement.
func describeDevices(ordinals []int) (*Facts, []driver.Info, error) {
	all, err := driver.Devices()
	if err != nil {
		return nil, nil, err
	}
	infos := all
	if len(ordinals) > 0 {
		infos = nil
		for _, o := range ordinals {
			if o < 0 || o >= len(all) {
				return nil, nil, fmt.Errorf("there is no device %d", o)
			}
			infos = append(infos, all[o])
		}
	}
	if len(infos) == 0 {
		return nil, nil, errors.New("the driver reports no device")
	}
	f := &Facts{}
	paths := make([]string, len(infos))
	for i, info := range infos {
		d := Device{UUID: info.UUID, Name: info.Name, PCI: info.PCI}
		paths[i], d.NUMA = pciPath("/sys", info.PCI)
		if paths[i] == "" {
			f.note("the system does not describe PCI device %s", info.PCI)
		}
		f.Devices = append(f.Devices, d)
		f.Driver = fmt.Sprintf("CUDA %d.%d", info.Driver/1000, info.Driver%1000/10)
	}
	for from := range infos {
		for to := range infos {
			if from == to {
				continue
			}
			p := Pair{From: from, To: to, Path: pathBetween(paths[from], paths[to], f.Devices[from].NUMA, f.Devices[to].NUMA)}
			if p.Peer, err = driver.Reaches(infos[from].Ordinal, infos[to].Ordinal); err != nil {
				return nil, nil, err
			}
			f.Pairs = append(f.Pairs, p)
		}
	}
	f.nvlinks()
	return f, infos, f.check()
}
