package costmodel

import "testing"

// More of anything takes longer, and more cores take less time.
func TestPredictedGroups(t *testing.T) {
	base := Grouping{Rows: 1 << 24, Groups: 100, Bytes: 16, Operations: 3, Functions: 2}
	device := DefaultDeviceRates.PredictGroups(base)
	if bandwidth := float64(base.Rows*base.Bytes) / DefaultDeviceRates.ReadGB / perMS; device < bandwidth || device > 8*bandwidth {
		t.Errorf("%.3f ms, %.3f at the bandwidth of memory", device, bandwidth)
	}
	if one, four := PredictGroups(base, 1), PredictGroups(base, 4); one != 4*four {
		t.Errorf("%.3f ms on one core, %.3f on four", one, four)
	}
	for name, change := range map[string]func(*Grouping){
		"rows": func(g *Grouping) { g.Rows *= 2 }, "groups": func(g *Grouping) { g.Groups = 1 << 20 },
		"operations": func(g *Grouping) { g.Operations = 100 }, "functions": func(g *Grouping) { g.Groups, g.Functions = 1<<20, 20 },
	} {
		g := base
		change(&g)
		if cores, more := PredictGroups(g, 4), DefaultDeviceRates.PredictGroups(g); cores <= PredictGroups(base, 4) || more <= device {
			t.Errorf("more %s: %.3f ms on cores, %.3f on the device", name, cores, more)
		}
	}
	near, far := base, base
	near.Groups, far.Groups = 1<<16, 1<<24
	if DefaultDeviceRates.PredictGroups(far) <= DefaultDeviceRates.PredictGroups(near) {
		t.Error("a table beyond the cache is as fast as one within it")
	}
}
