package server

import (
	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/multi"
	"gpujoin/joincore/run"
)

// JobDevices says on how many devices a job runs.
type JobDevices struct {
	Most int // at most; 0: as many as pay
	// Rates are those of a device, and PeerGB the rate, in GB/s, of copies between
	// devices; 0: they cannot access each other's memory.
	Rates  *costmodel.DeviceRates
	PeerGB float64
	// Memory is what joins may use of the device that has the least, in bytes.
	Memory int64
	// Always is for tests: jobs run on all idle devices, whatever is predicted.
	Always bool
}

// wholeShare is the share of a device's memory that inputs may have which each device reads
// whole. Larger ones may have to be partitioned in host memory, on each device all of them,
// which takes longer than on one.
const wholeShare = 6

// worthwhile is the share of its time that a job must still take at most, for more devices
// to be used: they may be needed for other jobs.
const worthwhile = 0.8

// count returns on how many devices, of at most `most` with the given provider, a job runs.
func (j *JobDevices) count(p device.Provider, plan *joincore.Plan, inputs []*joincore.Relation, most int) int {
	if j.Most > 0 {
		most = min(most, j.Most)
	}
	if most < 2 {
		return 1
	}
	if multi.Partitions(p, plan, inputs) {
		return most // links to the host take most of the time, and each device has its own
	}
	divided, ok := multi.Divide(plan, inputs)
	if !ok {
		return 1
	}
	if j.Always {
		return most
	}
	whole := int64(0)
	for i, r := range inputs {
		if i != divided {
			whole += multi.Bytes(r)
		}
	}
	if whole > j.Memory/wholeShare {
		return 1
	}
	rates := j.Rates
	if rates == nil {
		rates = &costmodel.DefaultDeviceRates
	}
	predict := func(n int) float64 {
		return run.PredictDevices(plan, inputs, run.Spread{Devices: n, Divided: divided, PeerGB: j.PeerGB}, rates)
	}
	best, ms := 1, predict(1)
	for n := 2; ; n *= 2 {
		n = min(n, most)
		if t := predict(n); t <= worthwhile*ms {
			best, ms = n, t
		}
		if n == most {
			return best
		}
	}
}

// team returns the devices that execute a job: the one that it has entered, and idle ones
// if that pays. The caller must call leave.
func (s *server) team(first *deviceQueue, plan *joincore.Plan, inputs []*joincore.Relation) (team []device.Provider, leave func()) {
	idle := 0
	for _, q := range s.queues {
		if q != first && q.load() == 0 {
			idle++
		}
	}
	n := s.machine.Jobs.count(first.Provider, plan, inputs, 1+idle)
	team = []device.Provider{first.Provider}
	var entered []*deviceQueue
	for _, q := range s.queues {
		if len(team) < n && q != first && q.enterIdle() {
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

// together returns a provider that executes plans on all of some devices.
func together(team []device.Provider) device.Provider {
	if len(team) == 1 {
		return team[0]
	}
	return multi.Replicate(team[0].Name(), team)
}
