package child

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/sidecar/worker/control"
)

// queueTimeout is how long a job waits for a device. The jobs that hold the
// device may belong to idle cursors, while the daemon's cores are free.
const queueTimeout = 2 * time.Second

var errBusy = errors.New("all devices are busy with other joins")

// deviceQueue is the queue of one device.
type deviceQueue struct {
	Device
	slots chan struct{}

	mu           sync.Mutex
	jobs, queued int
	noted        string // last note that was logged
}

func newDeviceQueue(d Device) *deviceQueue {
	return &deviceQueue{Device: d, slots: make(chan struct{}, max(1, d.Jobs))}
}

// load returns the number of jobs that run or wait on the device.
func (q *deviceQueue) load() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.jobs + q.queued
}

func (q *deviceQueue) count(jobs, queued int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs += jobs
	q.queued += queued
}

// enter waits for the device in the order of the calls. It returns errBusy
// after queueTimeout.
func (q *deviceQueue) enter(ctx context.Context) error {
	q.count(0, 1)
	defer q.count(0, -1)
	select {
	case q.slots <- struct{}{}:
		q.count(1, 0)
		return nil
	case <-time.After(queueTimeout):
		return errBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enterIdle takes a device on which no job runs or waits, if it is one.
func (q *deviceQueue) enterIdle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobs+q.queued > 0 {
		return false
	}
	select {
	case q.slots <- struct{}{}:
		q.jobs++
		return true
	default:
		return false
	}
}

func (q *deviceQueue) leave() {
	q.count(-1, 0)
	<-q.slots
}

func (q *deviceQueue) status() *control.Device {
	q.mu.Lock()
	defer q.mu.Unlock()
	d := &control.Device{
		Provider: q.Provider.Name(), Name: q.Name, Memory: q.Memory, Budget: q.Budget,
		Jobs: int32(q.jobs), Queued: int32(q.queued),
	}
	if q.Used != nil {
		d.Used = q.Used()
	}
	return d
}

// lacking is implemented by providers that may run without an optional feature.
type lacking interface {
	// Note returns the missing feature and the reason, or "".
	Note() string
}

// note returns the provider's note, and logs it when it changes.
func (q *deviceQueue) note(log *slog.Logger) string {
	p, ok := q.Provider.(lacking)
	if !ok {
		return ""
	}
	note := p.Note()
	q.mu.Lock()
	defer q.mu.Unlock()
	if note != q.noted && note != "" {
		log.Warn(note, "device", q.Name)
	}
	q.noted = note
	return note
}

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
			ms = max(ms, exec.PredictDevices(plan, inputs, exec.Spread{
				Devices: len(set), Divided: divided, PeerGB: j.PeerGB, Resident: m.residentOn(set),
			}, rates))
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
