package selector

import (
	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

// Bounds of the joins' build rows. With the most rows a column is several times as
// large as the cache; with fewer than the least, launches dominate.
const (
	mostTrialRows  = 1 << 25
	leastTrialRows = 1 << 20
)

// Bounds of a side's payload: columns, and bytes of a row.
const (
	mostTrialColumns = 16
	mostTrialPayload = 32
)

// trial is a join and the rates that its phases determine.
type trial struct {
	build, probe int64
	key          int
	widths       [2][]int
	domain       int64 // of probe keys; equal to the number of build keys: all probe rows match
	distinct     int64 // distinct build keys; 0: all
	zipf         float64
	how          string
	tells        []told
}

// told is a rate and the phase that determines it.
type told struct {
	phase string // "": the whole join
	rate  func(*costmodel.DeviceRates) *float64
}

// wholeJoin stands for the sum of all phases.
const wholeJoin = ""

// hotShare is the fraction of probe rows with hot keys for Zipf distributed keys
// with exponent 1.5, as samples have shown.
const hotShare = 0.9

// trials returns joins of up to n build and 2n probe rows.
func trials(n int64) []trial {
	same := func(w ...int) [2][]int { return [2][]int{w, w} }
	j := func(how string, widths [2][]int, tells ...told) trial {
		return trial{build: n, probe: 2 * n, key: 4, widths: widths, domain: n, how: how, tells: tells}
	}
	few := func(t trial) trial { t.domain = 16 * n; return t }
	sized := func(t trial, build, probe int64) trial { t.build, t.probe, t.domain = build, probe, build; return t }
	wide := func(t trial) trial { t.key = 8; return t }
	placed := j("place", same(4, 4), told{costmodel.PhaseMatch, func(r *costmodel.DeviceRates) *float64 { return &r.PlaceGps }})
	placed.domain = 2 * n // halves the result, which would otherwise leave too little memory
	hot := j("bypass", same(4, 4), told{costmodel.PhaseBypass, func(r *costmodel.DeviceRates) *float64 { return &r.BypassGB }})
	hot.zipf, hot.probe = 1.5, n
	reduced := sized(j("bloom", same(4, 4), told{costmodel.PhaseFilter, func(r *costmodel.DeviceRates) *float64 { return &r.FilterGps }}), n/8, 2*n)
	reduced.domain = 16 * reduced.build
	many := sized(j("phj-om", same(4, 4), told{costmodel.PhaseMatch, func(r *costmodel.DeviceRates) *float64 { return &r.MoreNS }}), n/8, n/8)
	many.distinct, many.domain = n/64, n/64
	// Rows of more than five words: the first pass of narrower ones is another.
	fields := j("phj-om", [2][]int{{2, 2, 2, 2, 2, 2, 2, 2, 2}, {4, 4}}, told{costmodel.PhaseBuildSide, func(r *costmodel.DeviceRates) *float64 { return &r.FieldNS }})
	return []trial{
		sized(j("phj-om", same(4), told{wholeJoin, func(r *costmodel.DeviceRates) *float64 { return &r.LaunchMS }}), 1<<10, 1<<11),
		wide(j("phj-om", same(8, 8), told{costmodel.PhaseHistogram, func(r *costmodel.DeviceRates) *float64 { return &r.ReadGB }})),
		j("phj-om", same(4, 4, 4, 4),
			told{costmodel.PhaseProbeSide, func(r *costmodel.DeviceRates) *float64 { return &r.PassGB }},
			told{costmodel.PhaseMatch, func(r *costmodel.DeviceRates) *float64 { return &r.MatchGB }}),
		few(j("phj-om", same(4, 4), told{costmodel.PhaseMatch, func(r *costmodel.DeviceRates) *float64 { return &r.MatchNS }})),
		j("phj-um", same(4, 4),
			told{costmodel.PhaseProbeSide, func(r *costmodel.DeviceRates) *float64 { return &r.RankNS }}),
		wide(j("phj-um", same(8, 8), told{costmodel.PhaseMatch, func(r *costmodel.DeviceRates) *float64 { return &r.WideGps }})),
		placed, hot, reduced, many, fields,
		j("smj-um", same(4, 4),
			told{costmodel.PhaseHistogram, func(r *costmodel.DeviceRates) *float64 { return &r.CountNS }}),
		few(j("smj-um", same(4, 4), told{costmodel.PhaseMerge, func(r *costmodel.DeviceRates) *float64 { return &r.MergeNS }})),
		j("smj-om", same(8, 8), told{costmodel.PhaseSort, func(r *costmodel.DeviceRates) *float64 { return &r.SortGB }}),
		j("smj-om", same(4, 4, 4, 4),
			told{costmodel.PhaseSort, func(r *costmodel.DeviceRates) *float64 { return &r.SortNS }},
			told{costmodel.PhaseMerge, func(r *costmodel.DeviceRates) *float64 { return &r.MergeGB }}),
		sized(j("npj", same(4, 4),
			told{costmodel.PhaseBuild, func(r *costmodel.DeviceRates) *float64 { return &r.EnterCachedNS }},
			told{costmodel.PhaseProbe, func(r *costmodel.DeviceRates) *float64 { return &r.FindCachedNS }},
			told{costmodel.PhaseGather, func(r *costmodel.DeviceRates) *float64 { return &r.CachedGps }}), 1<<20, 1<<22),
		j("npj", same(8, 8),
			told{costmodel.PhaseBuild, func(r *costmodel.DeviceRates) *float64 { return &r.EnterNS }},
			told{costmodel.PhaseProbe, func(r *costmodel.DeviceRates) *float64 { return &r.FindNS }},
			told{costmodel.PhaseGather, func(r *costmodel.DeviceRates) *float64 { return &r.FetchGps }}),
	}
}

// materialisations of partitioned joins that an algorithm's name does not determine.
var materialisations = map[string]costmodel.Materialisation{
	"place": {Probe: costmodel.Place}, "bypass": {Build: costmodel.Fetch, Bypass: true}, "bloom": {Bloom: true},
}

// predict returns the model's prediction for the trial.
func (t *trial) predict(r *costmodel.DeviceRates, j *costmodel.Resident) costmodel.Prediction {
	if m, ok := materialisations[t.how]; ok {
		return r.Predict(j, m)
	}
	a, _ := joincore.ParseAlgorithm(t.how)
	return r.Named(j, a).Prediction
}

// observations returns the trial's rates from the least ms of each phase.
func (t *trial) observations(least map[string]float64) (list []costmodel.Observation) {
	described := Describe(t.described(), t.results(), 0)
	for _, told := range t.tells {
		list = append(list, costmodel.Observation{
			Name: t.how + ", " + told.phase, Rate: told.rate, MS: least[told.phase],
			Predict: func(r *costmodel.DeviceRates) float64 {
				p := t.predict(r, &described)
				if told.phase == wholeJoin {
					return p.MS()
				}
				return p.Of(told.phase)
			},
		})
	}
	return list
}

// described is the model's description of the trial.
func (t *trial) described() costmodel.Resident {
	j := costmodel.Resident{KeyBytes: t.key, Rows: [2]int64{t.build, t.probe}, Payload: t.widths, MatchRatio: 1}
	if t.zipf > 0 {
		j.Hot = hotShare
	}
	if t.distinct > 0 {
		j.ResultRows = t.results()
	} else if t.domain > t.build {
		j.MatchRatio = float64(t.build) / float64(t.domain)
	}
	return j
}

// results is the expected number of result rows.
func (t *trial) results() int64 {
	if t.distinct > 0 {
		return t.probe * (t.build / t.distinct)
	}
	return int64(float64(t.probe) * min(1, float64(t.build)/float64(t.domain)))
}
