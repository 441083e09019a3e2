package child

import (
	"math"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
)

// JobDevices says on how many devices a job runs, and on which.
type JobDevices struct {
	Most int // at most; 0: as many as pay
	// PeerGB is the rate, in GB/s, of copies between devices; 0: they cannot access each
	// other's memory.
	PeerGB float64
	// Memory is what joins may use of the device that has the least, in bytes.
	Memory int64
	// Best returns the n devices of a list that are fastest together, with the first one of
	// the list among them; nil: the first n.
	Best func(list []int, n int) []int
	// Always is for tests: jobs run on all idle devices, whatever is predicted.
	Always bool
}

// wholeShare is the share of a device's memory that inputs may have which each device reads
// whole. Larger ones may have to be partitioned in host memory, on each device all of them,
// which takes longer than on one.
const wholeShare = 6

// worthwhile is the share of its time that a job must still take at most, for twice as many
// devices to be used: they may be needed for other jobs.
const worthwhile = 0.8

// pays is the share of its time that a job may still take for more devices to be used, be it
// one more or several times as many.
func pays(from, to int) float64 {
	return math.Pow(worthwhile, math.Log2(float64(to)/float64(from)))
}

// choose returns the devices of a list on which a job runs, with the first one of the list
// among them: each of the list could run it.
func (m *Machine) choose(plan *joincore.Checked, inputs []*joincore.Relation, list []int) []int {
	j, most := &m.Jobs, len(list)
	if j.Most > 0 {
		most = min(most, j.Most)
	}
	if most < 2 {
		return list[:1]
	}
	if multi.Partitions(m.Devices[list[0]].Provider, plan, inputs) {
		return j.best(list, most) // links to the host take most of the time, and each device has its own
	}
	divided, ok := multi.Divide(plan, inputs)
	if !ok {
		return list[:1]
	}
	if j.Always {
		return j.best(list, most)
	}
	whole := int64(0)
	for i, r := range inputs {
		if i != divided {
			whole += multi.Bytes(r)
		}
	}
	if whole > j.Memory/wholeShare {
		return list[:1]
	}
	// Devices have equal parts of the rows, so the slowest one determines the time.
	predict := func(set []int) (ms float64) {
		for _, d := range set {
			rates := m.Devices[d].Rates
			if rates == nil {
				rates = &costmodel.DefaultDeviceRates
			}
			ms = max(ms, exec.PredictDevices(plan, inputs, exec.Spread{Devices: len(set), Divided: divided, PeerGB: j.PeerGB}, rates))
		}
		return ms
	}
	best := list[:1]
	ms := predict(best)
	for n := 2; ; n *= 2 {
		n = min(n, most)
		set := j.best(list, n)
		if t := predict(set); t <= pays(len(best), n)*ms {
			best, ms = set, t
		}
		if n == most {
			return best
		}
	}
}

// best returns the n devices of a list that are fastest together.
func (j *JobDevices) best(list []int, n int) []int {
	if j.Best != nil {
		if set := j.Best(list, n); len(set) == n {
			return set
		}
	}
	return list[:n]
}

// team returns the devices that execute a job: the one that it has entered, and idle ones
// if that pays. The caller must call leave.
func (s *server) team(first *deviceQueue, plan *joincore.Checked, inputs []*joincore.Relation) (team []device.Provider, leave func()) {
	list := []int{slices.Index(s.queues, first)}
	for i, q := range s.queues {
		if q != first && q.load() == 0 {
			list = append(list, i)
		}
	}
	team = []device.Provider{first.Provider}
	var entered []*deviceQueue
	for _, i := range s.machine.choose(plan, inputs, list) {
		if q := s.queues[i]; q != first && q.enterIdle() {
			team = append(team, q.Provider)
			entered = append(entered, q)
		}
	}
	return team, func() {
		for _, q := range entered {
			q.leave()
		}
	}
}

// spread returns a provider that executes plans on all of some devices.
func spread(team []device.Provider) device.Provider {
	if len(team) == 1 {
		return team[0]
	}
	return multi.Replicate(team[0].Name(), team)
}
