package mgj

import (
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/selector"
)

// Choice is how a join is executed, and its predicted time.
type Choice struct {
	Strategy Strategy
	MS       float64
}

// From joins of 8 to 36 bytes a row on 2 H100.
const (
	// startMS is what a join over several GPUs takes beyond its parts on one: more kernels,
	// and the time until the first rows have arrived.
	startMS = 0.4
	// contention is by how much longer passes take while rows are sent.
	contention = 0.15
	// gain is the part of the time of one GPU that several may take.
	gain = 0.95
)

// Choose predicts a join on one of equal GPUs, and over all of them by each strategy, and
// returns the fastest. gbps is what a GPU sends to others while it receives as much.
func Choose(rates *costmodel.DeviceRates, j costmodel.Resident, devices int, gbps float64) Choice {
	best := Choice{Alone, rates.Pick(selector.Describe(j, j.ResultRows, 0)).Prediction.MS()}
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
	own.Rows[1], own.ResultRows = j.Rows[1]/n, j.ResultRows/n
	if s == Exchange {
		own.Rows[0] /= n
	}
	own = selector.Describe(own, own.ResultRows, 0)
	m, carried := own.Shape(costmodel.Materialisation{})
	if m.Build == costmodel.Fetch || m.Probe == costmodel.Fetch {
		return 0, false
	}
	p := rates.Predict(&own, m)
	bytes := func(side int) float64 {
		return float64(j.Rows[side]) * float64(j.KeyBytes+4*carried[side].Words) / float64(devices)
	}
	others := float64(devices - 1)
	// Of the passes over what has arrived, that over the last range hides nothing.
	const lastRange = 0.1
	build, probe := p.Of(costmodel.PhaseBuildSide), p.Of(costmodel.PhaseProbeSide)
	ms, send, hidden := startMS+p.MS(), bytes(0)*others, build/2
	if s == Exchange {
		ms += contention * (build + probe)
		send, hidden = (bytes(0)+bytes(1))*others/float64(devices), build+probe*(1-lastRange)
	}
	return ms + max(0, send/gbps/1e6-hidden), true
}
