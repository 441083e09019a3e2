package mgj

import (
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar/selector"
)

// Choice is how a join is executed, and its predicted time.
type Choice struct {
	Strategy Strategy
	MS       float64
}

// From joins of 8 to 132 bytes a row on 2 H100 and 2 H200.
const (
	// aloneMS is what the host takes of a join's time, on one GPU.
	aloneMS = 0.08
	// exchangeMS and replicateMS are what a join over several GPUs takes beyond its parts on one:
	// the host's time, more kernels, and the time until the first rows have arrived.
	exchangeMS, replicateMS = 0.4, 0.28
	// contention is by how much longer passes take while rows are sent.
	contention = 0.08
	// besideBuild is the part of the probe side's passes that runs while the build side is
	// replicated. If that is packed, measurements show that no pass hides how long it is sent.
	besideBuild = 0.35
	// lastRange is the part of the probe side's passes that hides nothing in an exchange: that
	// over the last range.
	lastRange = 0.1
	// gain is the most that several GPUs may be predicted to take of the time of one, to be chosen.
	// It is close to 1, because a prediction may err in either direction.
	gain = 0.99
)

// Choose predicts a join on one of equal GPUs, and over all of them by each strategy, and
// returns the fastest. gbps is what a GPU sends to others while it receives as much.
func Choose(rates *costmodel.DeviceRates, j costmodel.Resident, devices int, gbps float64) Choice {
	best := Choice{Alone, aloneMS + rates.Pick(selector.Describe(j, j.ResultRows, 0)).Prediction.MS()}
	least := gain * best.MS
	for _, s := range []Strategy{Exchange, Replicate} {
		if ms, ok := s.predict(rates, j, devices, gbps); ok && devices > 1 && ms < least {
			best, least = Choice{s, ms}, ms
		}
	}
	return best
}

// predict models a strategy: the passes and the match of one GPU, and what of sending they
// do not hide. false: its payload cannot be sent.
func (s Strategy) predict(rates *costmodel.DeviceRates, j costmodel.Resident, devices int, gbps float64) (ms float64, ok bool) {
	n := int64(devices)
	own := j
	own.Rows, own.ResultRows = [2]int64{j.Rows[0] / n, j.Rows[1] / n}, j.ResultRows/n
	own = twoPasses(selector.Describe(own, own.ResultRows, 0))
	m, carried := own.Shape(costmodel.Materialisation{})
	if m.Build == costmodel.Fetch || m.Probe == costmodel.Fetch {
		return 0, false
	}
	p := rates.Predict(&own, m)
	ms = p.MS()
	build, probe := p.Of(costmodel.PhaseBuildSide), p.Of(costmodel.PhaseProbeSide)
	if s == Replicate { // the second pass and the match handle all build rows
		own.Rows[0] = j.Rows[0]
		all := rates.Predict(&own, m)
		second := (all.Of(costmodel.PhaseBuildSide) - build) / 2
		ms += second + all.Of(costmodel.PhaseMatch) - p.Of(costmodel.PhaseMatch)
		build += second
	}
	bytes := func(side int) float64 {
		return float64(j.Rows[side]) * float64(j.KeyBytes+4*carried[side].Words) / float64(devices)
	}
	var start, send, contended, hidden float64
	switch s {
	case Exchange:
		start, send = exchangeMS, (bytes(0)+bytes(1))/float64(devices)
		contended, hidden = build+probe, build+probe*(1-lastRange)
	case Replicate:
		start, send = replicateMS, bytes(0)
		contended, hidden = build, build/2
		if m.Build != costmodel.Pack {
			hidden += probe * besideBuild
		}
	}
	return ms + start + contention*contended + max(0, send*float64(devices-1)/gbps/1e6-hidden), true
}

// twoPasses returns a join whose shape never has one pass only: the first one sends.
func twoPasses(j costmodel.Resident) costmodel.Resident {
	shape := j.Shape
	j.Shape = func(m costmodel.Materialisation) (costmodel.Materialisation, [2]costmodel.Carried) {
		m, c := shape(m)
		c[0].OnePass, c[1].OnePass = false, false
		return m, c
	}
	return j
}
