package costmodel

import "gpujoin/joincore"

// PairColumns is how many columns the join returns whose rates Rates.BuildNS and
// Rates.ProbeNS are. ColumnNS is added for each further one.
const PairColumns = 2

// CoreJoin describes a join on cores before it runs.
type CoreJoin struct {
	Algorithm                    joincore.Algorithm // 0: as chosen by Rates.Algorithm
	BuildRows, ProbeRows, Result int64
	Columns                      int // columns written per result row
}

// moved is the share of a partitioned join's rates that is moving rows into
// partitions; the rest is matching.
const moved = 0.5

// Predict returns the predicted time of each phase of a join on the given
// number of cores, in ms. The prediction is empty for algorithms without
// measured rates.
func (r *Rates) Predict(j CoreJoin, cores int) Prediction {
	of := func(rows int64, ns float64) float64 { return float64(rows) * ns / float64(max(cores, 1)) / perMS }
	ns := r.Probe(j.BuildRows)
	ns = max(ns-PairColumns*r.ColumnNS, ns/2) // what it was measured with is gathered, too
	build, probe := of(j.BuildRows, r.Build(j.BuildRows)), of(j.ProbeRows, ns)
	var p Prediction
	switch j.Algorithm {
	case joincore.NPJ, 0:
		p = Prediction{{PhaseBuild, build}, {PhaseMatch, probe}}
	case joincore.PHJUM, joincore.PHJOM:
		p = Prediction{{PhaseBuildSide, build * moved}, {PhaseProbeSide, probe * moved}, {PhaseMatch, (build + probe) * (1 - moved)}}
	default:
		return nil
	}
	return append(p, PhaseMS{PhaseGather, of(j.Result, r.ColumnNS*float64(j.Columns))})
}
