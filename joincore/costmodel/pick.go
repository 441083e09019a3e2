package costmodel

import (
	"cmp"
	"slices"

	"gpujoin/joincore"
)

// Pick chooses among all five algorithms. It takes the cheapest, or the
// decision tree's choice if the predictions do not differ.
func (r *DeviceRates) Pick(j Resident) Method {
	methods := r.Methods(j)
	best := slices.MinFunc(methods, func(a, b Method) int { return cmp.Compare(a.cost(), b.cost()) })
	for _, m := range methods {
		if m.Algorithm == j.Tree() && m.cost() <= best.cost()*(1+noDifference) {
			return m
		}
	}
	return best
}

// cost is the prediction with what it may be wrong by: one table suffers from
// keys that many build rows have, of which nothing is known.
func (m *Method) cost() float64 {
	if m.Algorithm == joincore.NPJ {
		return m.MS * 1.1
	}
	return m.MS
}

// noDifference is the share by which two predictions say the same.
const noDifference = 0.02

// Methods returns the algorithms that can execute the join, with predictions.
func (r *DeviceRates) Methods(j Resident) []Method {
	m := r.Materialisation(j)
	phj := Method{Algorithm: joincore.PHJOM, Materialisation: m, Prediction: r.Predict(&j, m)}
	if m.Build == Fetch && m.Probe == Fetch {
		phj.Algorithm = joincore.PHJUM
	}
	list := []Method{phj}
	if j.SortPasses > 0 {
		list = append(list, r.Named(&j, joincore.SMJOM), r.Named(&j, joincore.SMJUM))
	}
	if v := j.volumes(); j.TableBytes > 0 && v.more <= v.probe { // else keys are frequent on both sides
		list = append(list, r.Named(&j, joincore.NPJ))
	}
	return list
}

// What the decision tree calls low, skewed and small.
const (
	lowMatchRatio = 0.25 // of probe rows
	skewedShare   = 0.25 // of probe rows that have hot keys
	smallTable    = 8 << 20
)

// Tree is the decision tree of GFTR (section 5.4, figure 17), preceded by the
// no-partitioning join, which that paper leaves out, for tables that fit into
// the cache. Partitioned hash joins always precede sort-merge joins, since a
// partition pass costs less than a sort pass and the later phases are alike.
func (j *Resident) Tree() joincore.Algorithm {
	narrow := len(j.Payload[0]) <= 1 && len(j.Payload[1]) <= 1
	switch {
	case j.TableBytes > 0 && j.tableBytes() <= smallTable:
		return joincore.NPJ
	case narrow:
		return joincore.PHJOM // as good as UM, and better under skew
	case j.Hot >= skewedShare:
		return joincore.PHJOM // keys are partitioned evenly, however frequent
	case j.MatchRatio < lowMatchRatio:
		return joincore.PHJUM // few values are fetched
	}
	return joincore.PHJOM // materialisation is most of the time, and in order
}

// tableBytes is the size of what a join without partitions looks keys up in.
func (j *Resident) tableBytes() int64 {
	if j.Array.Bytes > 0 {
		return j.Array.Bytes
	}
	return j.TableBytes
}
