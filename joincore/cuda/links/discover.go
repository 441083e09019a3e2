//go:build cuda

package links

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpujoin/joincore/cuda/driver"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Discover finds out about devices and measures them, which takes about a second for each
// pair. No ordinals mean all devices that this process sees. If they are to be apart, none accesses
// another one's memory. The devices should be idle.
func Discover(ctx context.Context, ordinals []int, apart bool) (*Facts, error) {
	f, infos, err := describeDevices(ordinals, apart)
	if err != nil {
		return nil, err
	}
	return f, measureFacts(ctx, f, infos)
}

// CachedFacts returns the facts in a file, if they are about the same devices and driver, or
// those that it discovers and writes there.
func CachedFacts(ctx context.Context, path string, ordinals []int, apart bool) (*Facts, error) {
	f, infos, err := describeDevices(ordinals, apart)
	if err != nil {
		return nil, err
	}
	var uuids []string
	for _, d := range f.Devices {
		uuids = append(uuids, d.UUID)
	}
	if old, err := LoadFacts(path, uuids, f.Driver, apart); old != nil || err != nil {
		return old, err
	}
	if err := measureFacts(ctx, f, infos); err != nil {
		return nil, err
	}
	return f, f.Save(path)
}

// describeDevices returns what is known without a measurement.
func describeDevices(ordinals []int, apart bool) (*Facts, []driver.Info, error) {
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
	if apart {
		f = f.apart()
	}
	return f, infos, f.check()
}

// nvlinks asks the management library for the driver's version and the NVLinks of all
// devices. Devices are found by their UUIDs, because the library numbers them in its own
// way. What fails is noted.
func (f *Facts) nvlinks() {
	if r := nvml.Init(); r != nvml.SUCCESS {
		f.note("NVML is not available, so NVLinks are not known: %s", nvml.ErrorString(r))
		return
	}
	defer nvml.Shutdown()
	if version, r := nvml.SystemGetDriverVersion(); r == nvml.SUCCESS {
		f.Driver = version
	} else {
		f.note("the version of the driver is not known: %s", nvml.ErrorString(r))
	}
	handles := make([]nvml.Device, len(f.Devices))
	address := map[string]int{}
	for i := range f.Devices {
		h, r := nvml.DeviceGetHandleByUUID(f.Devices[i].UUID)
		if r != nvml.SUCCESS {
			f.note("device %d is not known to NVML: %s", i, nvml.ErrorString(r))
			continue
		}
		handles[i] = h
		if info, r := h.GetPciInfo(); r == nvml.SUCCESS {
			address[busID(&info)] = i
		}
		if use, r := h.GetUtilizationRates(); r == nvml.SUCCESS && use.Gpu > 0 {
			f.note("device %d was busy (%d %%): its rates may be too low", i, use.Gpu)
		}
	}
	for i, h := range handles {
		if h != nil {
			f.linksOf(i, h, address)
		}
	}
}

// linksOf counts the active links of a device, and those that lead to other devices.
func (f *Facts) linksOf(device int, h nvml.Device, address map[string]int) {
	for link := range nvml.NVLINK_MAX_LINKS {
		state, r := h.GetNvLinkState(link)
		if r != nvml.SUCCESS || state != nvml.FEATURE_ENABLED {
			continue // a device without NVLink, or with fewer links
		}
		f.Devices[device].NVLinks++
		info, r := h.GetNvLinkRemotePciInfo(link)
		if r != nvml.SUCCESS {
			continue // a switch that a virtual machine does not see
		}
		if other, ok := address[busID(&info)]; ok && other != device {
			for i := range f.Pairs {
				if p := &f.Pairs[i]; p.From == device && p.To == other {
					p.NVLinks++
				}
			}
		}
	}
}

func busID(info *nvml.PciInfo) string {
	return fmt.Sprintf("%x:%x:%x", info.Domain, info.Bus, info.Device)
}

func (f *Facts) note(format string, args ...any) {
	f.Notes = append(f.Notes, strings.TrimSpace(fmt.Sprintf(format, args...)))
}
