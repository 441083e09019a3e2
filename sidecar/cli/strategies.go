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

// deviceMethods are how inputs can be transferred to a device.
type deviceMethods struct {
	Provider string            `json:"provider"`
	Device   int               `json:"device"`
	Methods  []executor.Method `json:"methods"`
}

// ability is what devices can do: the strategies and the methods of those that have some.
type ability struct {
	strategies []deviceStrategies
	methods    []deviceMethods
}

// askAbility asks the running daemon, whose worker knows its devices and their links: measuring
// these takes too long for a check. It returns none if there is no daemon, or no GPU that is ready.
func askAbility(cfg *config.Config) ability {
	status, err := daemonStatus(cfg)
	if err != nil { // another check reports that
		return abilityOf(nil)
	}
	return abilityOf(status.Devices)
}

// abilityOf returns what devices can do.
func abilityOf(devices []executor.Device) ability {
	able := ability{[]deviceStrategies{}, []deviceMethods{}}
	for _, d := range devices {
		if len(d.Strategies) > 0 {
			able.strategies = append(able.strategies, deviceStrategies{d.Provider, d.Number, d.Strategies})
		}
		if len(d.Methods) > 0 {
			able.methods = append(able.methods, deviceMethods{d.Provider, d.Number, d.Methods})
		}
	}
	return able
}

// strategiesText describes what jobs can be executed by.
func (a ability) strategiesText() string {
	return devicesText(a.strategies, func(d deviceStrategies, add func(name, reason string)) (device int) {
		for _, s := range d.Strategies {
			name := s.Name
			if s.Note != "" {
				name = fmt.Sprintf("%s (%s)", s.Name, s.Note)
			}
			add(name, s.Reason)
		}
		return d.Device
	})
}

// methodsText describes what inputs can be transferred by.
func (a ability) methodsText() string {
	return devicesText(a.methods, func(d deviceMethods, add func(name, reason string)) (device int) {
		for _, m := range d.Methods {
			add(m.Name, m.Reason)
		}
		return d.Device
	})
}

// devicesText describes the ways of devices, once if these are the same. list adds those of a device,
// whose number it returns.
func devicesText[D any](devices []D, list func(d D, add func(name, reason string)) (device int)) string {
	var texts, named []string
	for _, d := range devices {
		ways := waysList{}
		device := list(d, ways.add)
		text := ways.text()
		texts, named = append(texts, text), append(named, fmt.Sprintf("device %d: %s", device, text))
	}
	if same := slices.Compact(texts); len(same) < 2 {
		return strings.Join(same, "")
	}
	return strings.Join(named, "; ")
}

// waysList is ways to do something, by the reason why they are not possible: "" if they are.
type waysList struct {
	reasons  []string
	byReason map[string][]string
}

func (l *waysList) add(name, reason string) {
	if l.byReason == nil {
		l.byReason = map[string][]string{}
	}
	if l.byReason[reason] == nil {
		l.reasons = append(l.reasons, reason)
	}
	l.byReason[reason] = append(l.byReason[reason], name)
}

// text lists the ways that are possible, and the others by their reasons.
func (l *waysList) text() string {
	var parts []string
	for _, why := range l.reasons {
		names := strings.Join(l.byReason[why], ", ")
		if why != "" {
			names = fmt.Sprintf("not %s: %s", names, why)
		}
		parts = append(parts, names)
	}
	return strings.Join(parts, "; ")
}
