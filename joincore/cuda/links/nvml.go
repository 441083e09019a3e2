//go:build cuda

package links

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

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
