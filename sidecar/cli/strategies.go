package cli

import (
	"fmt"
	"slices"
	"strings"

	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor"
)

// deviceStrategies are how jobs that begin on a device can be executed.
type deviceStrategies struct {
	Provider   string              `json:"provider"`
	Device     int                 `json:"device"`
	Strategies []executor.Strategy `json:"strategies"`
}

// askStrategies asks the running daemon, whose worker knows its devices and their links: measuring
// these takes too long for a check. It returns none if there is no daemon, or no GPU that is ready.
func askStrategies(cfg *config.Config) []deviceStrategies {
	status, err := daemonStatus(cfg)
	if err != nil {
		return []deviceStrategies{} // another check reports that
	}
	return ableDevices(status.Devices)
}

// ableDevices returns the devices that have strategies.
func ableDevices(devices []executor.Device) []deviceStrategies {
	able := []deviceStrategies{}
	for _, d := range devices {
		if len(d.Strategies) > 0 {
			able = append(able, deviceStrategies{d.Provider, d.Number, d.Strategies})
		}
	}
	return able
}

// strategiesText describes what jobs can be executed by, once if that is the same on all devices.
func strategiesText(able []deviceStrategies) string {
	var texts []string
	for _, d := range able {
		texts = append(texts, listText(d.Strategies))
	}
	if same := slices.Compact(slices.Clone(texts)); len(same) < 2 {
		return strings.Join(same, "")
	}
	for i, d := range able {
		texts[i] = fmt.Sprintf("device %d: %s", d.Device, texts[i])
	}
	return strings.Join(texts, "; ")
}

// listText lists the strategies that are possible, and the others by their reasons.
func listText(list []executor.Strategy) string {
	var reasons []string
	byReason := map[string][]string{}
	for _, s := range list {
		if byReason[s.Reason] == nil {
			reasons = append(reasons, s.Reason)
		}
		byReason[s.Reason] = append(byReason[s.Reason], s.Name)
	}
	var parts []string
	for _, why := range reasons {
		names := strings.Join(byReason[why], ", ")
		if why != "" {
			names = fmt.Sprintf("not %s: %s", names, why)
		}
		parts = append(parts, names)
	}
	return strings.Join(parts, "; ")
}
