package costmodel

// Machine says how fast one core of this machine is at what PostgreSQL's own plans do,
// and how large its caches are. The extension's planner scales its rates of native plans
// by it, so that they hold on machines that differ from the one where they were measured.
type Machine struct {
	ProbeNS       float64 // time of a probe of a hash table in the core's own cache
	LoadNS        float64 // time of a load from memory whose address is the result of the load before
	CachedBytes   float64 // size up to which random accesses hit a cache
	UncachedBytes float64 // size from which on they all miss
}

// TypicalMachine was measured on a virtual machine with cores of about 3 GHz, on which
// the planner's rates of native plans were measured, too.
var TypicalMachine = Machine{ProbeNS: 3.9, LoadNS: 170, CachedBytes: 2e6, UncachedBytes: 128e6}

// plausible reports whether m can hold measured values.
func (m *Machine) plausible() bool {
	for _, ns := range []float64{m.ProbeNS, m.LoadNS} {
		if !(ns > 0 && ns < 1e4) {
			return false
		}
	}
	return m.CachedBytes >= 1<<10 && m.CachedBytes < m.UncachedBytes && m.UncachedBytes <= 1<<40
}
