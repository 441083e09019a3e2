package costmodel

import "math"

// Observation is the measured time of a phase and the rate that bounds it.
type Observation struct {
	Name    string // for errors and tests
	Rate    func(*DeviceRates) *float64
	Predict func(*DeviceRates) float64 // ms; monotonic in the rate
	MS      float64
}

// fitRounds is how often all rates are fitted: a phase has a bit of others'.
const fitRounds = 6

// fitWithin is by how much a rate may differ from what it was.
const fitWithin = 32

// Fit adjusts the rates, one after the other, until predictions match the
// observations. It keeps a rate on which its phase hardly depends: that phase
// is bounded by something else, such as the cache if all data fits into it.
func (r *DeviceRates) Fit(list []Observation) {
	before := *r
	for range fitRounds {
		for _, o := range list {
			r.fit(o, *o.Rate(&before))
		}
	}
}

// fit finds the rate by halving the range of its logarithm.
func (r *DeviceRates) fit(o Observation, usual float64) {
	rate := o.Rate(r)
	now := *rate
	at := func(v float64) float64 {
		*rate = v
		return o.Predict(r)
	}
	low, high := usual/fitWithin, usual*fitWithin
	atLow, atHigh := at(low), at(high)
	inside := min(atLow, atHigh) < o.MS && o.MS < max(atLow, atHigh)
	if !inside || math.Abs(at(now*2)-at(now/2)) < dependent*o.MS {
		*rate = now
		return
	}
	for range 60 {
		middle := math.Sqrt(low * high)
		if (at(middle) < o.MS) == (atLow < o.MS) {
			low = middle
		} else {
			high = middle
		}
	}
	*rate = math.Sqrt(low * high)
}

// dependent is the share of a phase that a rate has to move when it becomes
// four times as large.
const dependent = 0.15
