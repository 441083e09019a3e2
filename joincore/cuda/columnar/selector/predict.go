package selector

import "gpujoin/joincore/costmodel"

// sampleMS is what a sample takes, with the wait for it.
const sampleMS = 0.1

// PredictOne predicts, in ms, what becomes of a join of which the given match ratio and result turn out to be
// true: without a sample, it is chosen as if each probe row had a match.
func PredictOne(rates *costmodel.DeviceRates, j costmodel.Resident) float64 {
	j = Describe(j, j.ResultRows, 0)
	c := chooser{rates: rates, join: j, plain: len(j.Payload[0])+len(j.Payload[1]) == 0}
	if c.sampled() {
		return sampleMS + rates.Pick(j).Prediction.MS()
	}
	c.join.MatchRatio = 1
	m := rates.Pick(c.join)
	if partitioned(m) {
		return rates.Predict(&j, m.Materialisation).MS()
	}
	return rates.Named(&j, m.Algorithm).Prediction.MS()
}
