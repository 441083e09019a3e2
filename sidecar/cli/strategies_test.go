package cli

import (
	"testing"

	"gpujoin/sidecar/executor"
)

// A check names the strategies that are possible, and of the others the reason, each once; it names
// devices only where they differ.
func TestStrategiesText(t *testing.T) {
	s := func(name, reason string) executor.Strategy { return executor.Strategy{Name: name, Reason: reason} }
	list := func(replicate, divide, exchange string) []executor.Strategy {
		return []executor.Strategy{s("alone", ""), s("replicate", replicate), s("divide", divide), s("exchange", exchange)}
	}
	gpu := func(number int, strategies []executor.Strategy) executor.Device {
		return executor.Device{Provider: "cuda", Number: number, Strategies: strategies}
	}
	for name, c := range map[string]struct {
		devices []executor.Device
		want    string
	}{
		"cores":         {[]executor.Device{{Provider: "cpu"}}, ""},
		"one":           {[]executor.Device{gpu(0, list("one", "one", "one"))}, "alone; not replicate, divide, exchange: one"},
		"two":           {[]executor.Device{gpu(0, list("", "", "")), {Provider: "cpu"}, gpu(1, list("", "", ""))}, "alone, replicate, divide, exchange"},
		"two reasons":   {[]executor.Device{gpu(0, list("", "why", "because"))}, "alone, replicate; not divide: why; not exchange: because"},
		"one is broken": {[]executor.Device{gpu(0, list("", "why", "")), gpu(1, nil)}, "alone, replicate, exchange; not divide: why"},
		"a note": {
			[]executor.Device{gpu(0, append(list("", "why", "why"), executor.Strategy{Name: "slow", Note: "through the host: because"}))},
			"alone, replicate, slow (through the host: because); not divide, exchange: why",
		},
		"different": {
			[]executor.Device{gpu(0, list("", "", "why")), gpu(2, list("", "", ""))},
			"device 0: alone, replicate, divide; not exchange: why; device 2: alone, replicate, divide, exchange",
		},
	} {
		if got := abilityOf(c.devices).strategiesText(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A check names the methods by which inputs can be transferred, and of the others the reason.
func TestMethodsText(t *testing.T) {
	m := func(name, reason string) executor.Method { return executor.Method{Name: name, Reason: reason} }
	gpu := func(number int, methods ...executor.Method) executor.Device {
		return executor.Device{Provider: "cuda", Number: number, Methods: methods}
	}
	for name, c := range map[string]struct {
		devices []executor.Device
		want    string
	}{
		"cores":     {[]executor.Device{{Provider: "cpu"}}, ""},
		"one":       {[]executor.Device{gpu(0, m("staged", ""), m("coherence", "why"), m("prefetch", ""))}, "staged, prefetch; not coherence: why"},
		"the same":  {[]executor.Device{gpu(0, m("staged", "")), gpu(1, m("staged", ""))}, "staged"},
		"different": {[]executor.Device{gpu(0, m("pinned", "")), gpu(3, m("pinned", "why"))}, "device 0: pinned; device 3: not pinned: why"},
	} {
		if got := abilityOf(c.devices).methodsText(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
