package child

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

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
	// StagedGB is the rate, in GB/s, at which a device that exchanges rows with others through the
	// memory of the host sends while it receives as many; 0: unknown.
	StagedGB float64
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
	ms     float64 // predicted; 0: not predicted
}

// choose returns how a job is executed on devices of a list, with the first one of the list
// among them: each of the list could run it alone.
func (m *Machine) choose(plan *joincore.Checked, inputs []*joincore.Relation, list []int) choice {
	c := m.demanded(plan, inputs, list)
	if c.ms == 0 {
		c.ms = m.predictChoice(plan, inputs, c)
	}
	return c
}

// demanded returns the same, with a prediction only if that was needed: by the strategy that the settings demand, if the
// job can be executed so.
func (m *Machine) demanded(plan *joincore.Checked, inputs []*joincore.Relation, list []int) choice {
	j, most := &m.Jobs, m.Jobs.atMost(list)
	if j.Strategy == costmodel.Alone {
		return choice{devices: list[:1], how: costmodel.Alone}
	}
	if j.Strategy == costmodel.Auto {
		return m.fastest(plan, inputs, list, most)
	}
	set := list[:1]
	reason := "the job has one device"
	if most >= j.Strategy.Fewest() {
		set = j.best(list, most)
		reason = multi.Unfit(m.providers(set), j.Strategy, plan, inputs)
	}
	if reason == "" {
		return choice{devices: set, how: j.Strategy}
	}
	c := m.fastest(plan, inputs, list, most)
	if c.how != j.Strategy {
		c.reason = fmt.Sprintf("not %v: %s", j.Strategy, reason)
	}
	return c
}

// atMost returns how many devices of a list a job may have.
func (j *JobDevices) atMost(list []int) int {
	if j.Most > 0 {
		return min(len(list), j.Most)
	}
	return len(list)
}

// holds reports whether each device of a set has memory for all inputs but the divided one.
func (m *Machine) holds(set []int, inputs []*joincore.Relation, divided int) bool {
	return !slices.ContainsFunc(set, func(d int) bool { return !multi.Holds(m.Devices[d].Provider, inputs, divided) })
}

// fastest returns how a job is executed fastest on at most that many devices of a list. More
// devices are used only if they pay.
func (m *Machine) fastest(plan *joincore.Checked, inputs []*joincore.Relation, list []int, most int) choice {
	j, one := &m.Jobs, choice{devices: list[:1], how: costmodel.Alone}
	if most < 2 {
		return one
	}
	all := j.best(list, most)
	if slices.ContainsFunc(all, func(d int) bool { return multi.Partitions(m.Devices[d].Provider, plan, inputs) }) {
		return m.partitioned(plan, inputs, all) // links to the host take most of the time, and each device has its own
	}
	if _, ok := multi.Divide(plan, inputs); ok && j.Always {
		return choice{devices: all, how: costmodel.Replicate}
	}
	best, ms := one, m.predictChoice(plan, inputs, one)
	for n := 2; ; n *= 2 {
		n = min(n, most)
		set := j.best(list, n)
		if c, ok := m.together(plan, inputs, set); ok {
			if t := m.predictChoice(plan, inputs, c); t <= pays(len(best.devices), n)*ms {
				best, ms = c, t
			}
		}
		if n == most {
			return best
		}
	}
}

// together returns how all devices of a set execute a job whose inputs they do not partition through
// the memory of the host. Replicating was faster than exchanging on two H200, for all sizes that a device
// holds (bench-multi's host-build): it joins windows of the divided input while others arrive.
func (m *Machine) together(plan *joincore.Checked, inputs []*joincore.Relation, set []int) (_ choice, ok bool) {
	// An input that a device cannot hold would be partitioned in host memory, on each device all
	// of it, which takes longer than on one.
	if divided, ok := multi.Divide(plan, inputs); ok && m.holds(set, inputs, divided) {
		return choice{devices: set, how: costmodel.Replicate}, true
	}
	return m.meeting(plan, inputs, set)
}

// meeting returns how devices of a set meet at a join of a plan, of those ways that they can the one that is predicted to be
// the fastest. The rate of their links has to be known. A table of which a part is on the host is made only if the settings demand it:
// random reads over the link take longer than to partition both inputs, unless they are few.
func (m *Machine) meeting(plan *joincore.Checked, inputs []*joincore.Relation, set []int) (best choice, ok bool) {
	for _, how := range []costmodel.Strategy{costmodel.Exchange, costmodel.Spread} {
		c := choice{devices: set, how: how}
		if c.ms = m.predictChoice(plan, inputs, c); c.ms > 0 && (!ok || c.ms < best.ms) {
			best, ok = c, true
		}
	}
	return best, ok
}

// clearly is the share of the time of partitioning through the host that a meeting may be predicted to take,
// to be used: the predictions, which are made from measured times (bench-multi's host-build), have to
// differ by more than they err.
const clearly = 0.95

// partitioned returns how devices execute a job of one join of two inputs whose build side exceeds one of them: they partition
// both inputs through the memory of the host, or meet at the join if that is predicted to take clearly less time.
func (m *Machine) partitioned(plan *joincore.Checked, inputs []*joincore.Relation, set []int) choice {
	c, ok := m.meeting(plan, inputs, set)
	if !ok {
		return choice{devices: set, how: costmodel.Divide}
	}
	both, err := multi.Meeting(m.providers(set), c.how, plan, inputs)
	if err != nil || c.ms > clearly*m.predict(plan, inputs, set, costmodel.Divide, both[:]...) {
		return choice{devices: set, how: costmodel.Divide}
	}
	return c
}

// heldShare is the share of a device's memory that windows of both inputs have while these are
// partitioned through the memory of the host: two H200 with 14 and 24 GB each took 500 ms for 8 with 24 GB, and 499 for 12
// with 24 (host-build).
const heldShare = 0.8

// predict returns the predicted time, in ms, of a job on devices that divide inputs. They
// have equal parts of their rows, so the slowest one determines the time.
func (m *Machine) predict(plan *joincore.Checked, inputs []*joincore.Relation, set []int, how costmodel.Strategy, divided ...int) (ms float64) {
	for _, d := range set {
		ms = max(ms, exec.PredictDevices(plan, inputs, exec.Spread{
			Devices: len(set), Divided: divided, How: how, PeerGB: m.Jobs.PeerGB, ExchangeGB: m.exchangeGB(set, how), Resident: m.residentOn(set), Stays: m.staysOn(d),
			Held: int64(heldShare * float64(m.Devices[d].Budget)), Table: m.Devices[d].Budget / 4 * 3,
		}, m.rates(d)))
	}
	return ms
}

// predictChoice returns the predicted time, in ms, of a job that is executed as chosen; 0 if the
// model does not know the strategy: inputs that pass through the memory of the host, or links
// of an unknown rate.
func (m *Machine) predictChoice(plan *joincore.Checked, inputs []*joincore.Relation, c choice) float64 {
	switch c.how {
	case costmodel.Alone:
		return m.predict(plan, inputs, c.devices, c.how)
	case costmodel.Replicate:
		if divided, ok := multi.Divide(plan, inputs); ok {
			return m.predict(plan, inputs, c.devices, c.how, divided)
		}
	case costmodel.Exchange, costmodel.Spread, costmodel.Hybrid:
		if len(c.devices) > 1 && m.exchangeGB(c.devices, c.how) == 0 {
			return 0
		}
		if divided, err := multi.Meeting(m.providers(c.devices), c.how, plan, inputs); err == nil {
			return m.predict(plan, inputs, c.devices, c.how, divided[:]...)
		}
	}
	return 0
}

// exchangeGB returns the rate at which devices of a set send each other rows if they execute jobs by a
// strategy; 0: unknown.
func (m *Machine) exchangeGB(set []int, how costmodel.Strategy) float64 {
	if multi.Staged(m.providers(set), how) != "" {
		return m.Jobs.StagedGB
	}
	return m.Jobs.PeerGB
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
	if len(t.members) < 2 && t.how != costmodel.Hybrid {
		return t.members[0]
	}
	return multi.Together(t.members[0].Name(), t.members, t.how)
}

// note notes how the job was executed: by the strategy that was chosen, or else by one device alone.
func (t *team) note(stats *joincore.Stats) {
	chosen := t.how.String()
	if len(t.members) == 1 && t.how != costmodel.Hybrid {
		stats.Strategy = costmodel.Alone.String()
	}
	if stats.Strategy == chosen && len(t.members) == len(t.devices) {
		stats.Predicted = time.Duration(t.ms * float64(time.Millisecond))
	}
	// What there is says why inputs were transferred by another method than the settings demand.
	reasons := slices.DeleteFunc([]string{t.reason, t.staged(stats.Strategy), stats.StrategyReason}, func(why string) bool { return why == "" })
	stats.StrategyReason = strings.Join(reasons, "; ")
}

// staged says that the job's rows have passed through the memory of the host, and why; "": they have not.
func (t *team) staged(executed string) string {
	if executed != t.how.String() {
		return ""
	}
	return throughHost(multi.Staged(t.members, t.how))
}

// throughHost says that rows pass through the memory of the host for a reason, "" for none.
func throughHost(why string) string {
	if why == "" {
		return ""
	}
	return "through host memory: " + why
}
