package child

import (
	"cmp"
	"fmt"
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
	// Strategy is how devices execute a job together, where they can; Auto: as is predicted to be
	// the fastest.
	Strategy costmodel.Strategy
	// PeerGB is the rate, in GB/s, of copies between devices; 0: they cannot access each
	// other's memory.
	PeerGB float64
	// Best returns the n devices of a list that are fastest together, with the first one of
	// the list among them; nil: the first n.
	Best func(list []int, n int) []int
	// Always is for tests: jobs run on all idle devices, whatever is predicted.
	Always bool
}

// worthwhile is the share of its time that a job must still take at most, for twice as many
// devices to be used: they may be needed for other jobs.
const worthwhile = 0.8

// pays is the share of its time that a job may still take for more devices to be used, be it
// one more or several times as many.
func pays(from, to int) float64 {
	return math.Pow(worthwhile, math.Log2(float64(to)/float64(from)))
}

// choice is how a job is executed, and on which devices.
type choice struct {
	devices []int
	how     costmodel.Strategy
	// reason says why the strategy is not the one that the settings demand; "": it is, or they
	// demand none.
	reason string
}

// choose returns how a job is executed on devices of a list, with the first one of the list
// among them: each of the list could run it alone.
func (m *Machine) choose(plan *joincore.Checked, inputs []*joincore.Relation, list []int) choice {
	j, most := &m.Jobs, len(list)
	if j.Most > 0 {
		most = min(most, j.Most)
	}
	if j.Strategy == costmodel.Alone {
		return choice{list[:1], costmodel.Alone, ""}
	}
	if j.Strategy == costmodel.Auto {
		return m.fastest(plan, inputs, list, most)
	}
	set := list[:1]
	reason := "the job has one device"
	if most >= 2 {
		set = j.best(list, most)
		reason = m.unfit(plan, inputs, set)
	}
	if reason == "" {
		return choice{set, j.Strategy, ""}
	}
	c := m.fastest(plan, inputs, list, most)
	if c.how != j.Strategy {
		c.reason = fmt.Sprintf("strategy %v: %s", j.Strategy, reason)
	}
	return c
}

// unfit returns why devices cannot execute a job by the strategy that the settings demand, or
// "".
func (m *Machine) unfit(plan *joincore.Checked, inputs []*joincore.Relation, set []int) string {
	switch m.Jobs.Strategy {
	case costmodel.Divide:
		if !multi.CanPartition(m.Devices[set[0]].Provider, plan) {
			return "devices partition one join of two inputs"
		}
		return ""
	case costmodel.Exchange:
		if _, err := multi.Exchange(m.providers(set), plan, inputs); err != nil {
			return err.Error()
		}
		return ""
	}
	divided, ok := multi.Divide(plan, inputs)
	switch {
	case !ok:
		return "no input can be divided among devices"
	case !m.holds(set, inputs, divided):
		return "a device has too little memory for the other inputs"
	}
	return ""
}

// holds reports whether each device of a set has memory for all inputs but the divided one.
func (m *Machine) holds(set []int, inputs []*joincore.Relation, divided int) bool {
	return !slices.ContainsFunc(set, func(d int) bool { return !multi.Holds(m.Devices[d].Provider, inputs, divided) })
}

// fastest returns how a job is executed fastest on at most that many devices of a list. More
// devices are used only if they pay.
func (m *Machine) fastest(plan *joincore.Checked, inputs []*joincore.Relation, list []int, most int) choice {
	j, one := &m.Jobs, choice{list[:1], costmodel.Alone, ""}
	if most < 2 {
		return one
	}
	all := j.best(list, most)
	if slices.ContainsFunc(all, func(d int) bool { return multi.Partitions(m.Devices[d].Provider, plan, inputs) }) {
		return choice{all, costmodel.Divide, ""} // links to the host take most of the time, and each device has its own
	}
	divided, ok := multi.Divide(plan, inputs)
	if !ok {
		return one
	}
	if j.Always {
		return choice{all, costmodel.Replicate, ""}
	}
	// An input that a device cannot hold would be partitioned in host memory, on each device all
	// of it, which takes longer than on one.
	if !m.holds(all, inputs, divided) {
		return one
	}
	best, ms := one, m.predict(plan, inputs, one.devices, divided)
	for n := 2; ; n *= 2 {
		n = min(n, most)
		set := j.best(list, n)
		if t := m.predict(plan, inputs, set, divided); t <= pays(len(best.devices), n)*ms {
			best, ms = choice{set, costmodel.Replicate, ""}, t
		}
		if n == most {
			return best
		}
	}
}

// predict returns the predicted time, in ms, of a job on devices that divide inputs. They
// have equal parts of their rows, so the slowest one determines the time.
func (m *Machine) predict(plan *joincore.Checked, inputs []*joincore.Relation, set []int, divided ...int) (ms float64) {
	for _, d := range set {
		ms = max(ms, exec.PredictDevices(plan, inputs, exec.Spread{
			Devices: len(set), Divided: divided, PeerGB: m.Jobs.PeerGB, Resident: m.residentOn(set), Stays: m.staysOn(d),
		}, m.rates(d)))
	}
	return ms
}

// rates returns the rates of a device.
func (m *Machine) rates(device int) *costmodel.DeviceRates {
	if r := m.Devices[device].Rates; r != nil {
		return r
	}
	return &costmodel.DefaultDeviceRates
}

// providers returns the providers of devices.
func (m *Machine) providers(set []int) (list []device.Provider) {
	for _, d := range set {
		list = append(list, m.Devices[d].Provider)
	}
	return list
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

// team is the devices that execute a job.
type team struct {
	members []device.Provider
	choice
	entered []*deviceQueue // in addition to the first one
}

// team returns the devices that execute a job: the one that it has entered, and idle ones
// if that pays. The caller must call leave.
func (s *server) team(first *deviceQueue, plan *joincore.Checked, inputs []*joincore.Relation) *team {
	list := []int{slices.Index(s.queues, first)}
	for i, q := range s.queues {
		if q != first && q.load() == 0 {
			list = append(list, i)
		}
	}
	t := &team{members: []device.Provider{first.Provider}, choice: s.machine.choose(plan, inputs, list)}
	for _, i := range t.devices {
		if q := s.queues[i]; q != first && q.enterIdle() {
			t.members = append(t.members, q.Provider)
			t.entered = append(t.entered, q)
		}
	}
	return t
}

// leave gives the devices back that the team has entered.
func (t *team) leave() {
	for _, q := range t.entered {
		q.leave()
	}
}

// provider returns a provider that executes plans on all devices of the team.
func (t *team) provider() device.Provider {
	if len(t.members) == 1 {
		return t.members[0]
	}
	return multi.Together(t.members[0].Name(), t.members, t.how)
}

// note notes why the job was not executed by the strategy that the settings demand.
func (t *team) note(stats *joincore.Stats) {
	switch {
	case t.reason == "":
	case len(t.members) == 1:
		stats.Alone = t.reason
	case len(stats.Joins) > 0:
		last := &stats.Joins[len(stats.Joins)-1]
		last.Reason = cmp.Or(last.Reason, t.reason)
	}
}
