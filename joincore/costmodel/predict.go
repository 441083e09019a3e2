package costmodel

import (
	"math"

	"gpujoin/joincore"
)

// Names of phases in statistics.
const (
	PhaseHistogram = "histogram"
	PhaseFilter    = "filter"
	PhaseBypass    = "bypass"
	PhaseBuildSide = "partition build side"
	PhaseProbeSide = "partition probe side"
	PhaseMatch     = "match"
	PhaseSort      = "sort"
	PhaseMerge     = "merge"
	PhaseGather    = "gather"
	PhaseBuild     = "build"
	PhaseProbe     = "probe"
)

// PhaseMS is a phase of a join and its predicted time.
type PhaseMS struct {
	Name string
	MS   float64
}

// Prediction is the predicted time of a join, by phase.
type Prediction []PhaseMS

// MS returns the sum of all phases in ms.
func (p Prediction) MS() (ms float64) {
	for _, phase := range p {
		ms += phase.MS
	}
	return ms
}

// Of returns the time of the named phase in ms, 0 if there is no such phase.
func (p Prediction) Of(name string) float64 {
	for _, phase := range p {
		if phase.Name == name {
			return phase.MS
		}
	}
	return 0
}

// Predict models a partitioned hash join: a read of all keys for the histogram,
// two passes over each side, and the match, which fetches payload while it
// computes. With a Bloom filter it models the join of the remaining rows.
func (r *DeviceRates) Predict(j *Resident, m Materialisation) Prediction {
	m, carried := j.shape(m)
	if m.Bloom {
		ms, left := r.reduction(j)
		m.Bloom = false
		return append(Prediction{{PhaseFilter, ms}}, r.Predict(&left, m)...)
	}
	v, key := j.volumes(), float64(j.KeyBytes)
	p := Prediction{{PhaseHistogram, (v.build+v.probe)*key/r.ReadGB/perMS + 2*r.LaunchMS}}
	hot := v.probe * j.Hot
	ranked := 0.0 // rows that the first pass only looks at
	if m.Bypass {
		probe := v.probe*(key+bytesOf(j.Payload[1])) + hot*j.outBytes() // hot rows lie everywhere
		p = append(p, PhaseMS{PhaseBypass, probe/r.BypassGB/perMS + r.LaunchMS})
		ranked = v.probe
		v.probe -= hot
		v.matched, v.results = max(v.matched-hot, 0), max(v.results-hot, 0)
		hot = 0
	}
	rows, read := [2]float64{v.build, v.probe}, 0.0
	for i, t := range [2]Transform{m.Build, m.Probe} {
		ms, final := r.passes(rows[i], key, bytesOf(j.Payload[i]), t, carried[i])
		if i == 1 {
			ms += ranked * r.RankNS / perMS
		}
		launches := 2.0
		if carried[i].OnePass {
			launches = 1
		}
		p = append(p, PhaseMS{[2]string{PhaseBuildSide, PhaseProbeSide}[i], ms + launches*r.LaunchMS})
		read += rows[i] * final
	}
	out := j.outBytes()
	gathered := Prediction{}
	for i, t := range [2]Transform{m.Build, m.Probe} {
		if t == Pack {
			payload := bytesOf(j.Payload[i])
			out += position - payload
			gathered = append(gathered, PhaseMS{PhaseGather, r.gather(v.results, payload, carried[i]) + r.LaunchMS})
		}
	}
	memory := (read + v.results*out) / r.MatchGB / perMS
	fields := float64(carried[0].Fields + carried[1].Fields)
	memory += r.fetches(j, m, carried, v, hot) + v.results*fields*r.FieldNS/emitted/perMS
	ms := math.Hypot(memory, (rows[0]+rows[1])*r.MatchNS/perMS)
	ms += partlyHidden(v.more*r.MoreNS, v.build*v.duplicates()*r.MatchNS) / perMS
	return append(append(p, PhaseMS{PhaseMatch, ms + 2*r.LaunchMS}), gathered...)
}

// partlyHidden is the time of returning the rows of a many-to-many join and of building its
// tables, of which the shorter part is hidden behind the longer one: build rows with one key enter
// one bucket, one after the other. The exponent is from joins of 2^22 to 2^26 build rows with 2^20
// to 2^26 probe rows and 4 to 64 rows of each key, on an H100.
func partlyHidden(returned, built float64) float64 {
	const exponent = 1.5
	return math.Pow(math.Pow(returned, exponent)+math.Pow(built, exponent), 1/exponent)
}

// From joins of 16 to 64 bytes a packed row, and of 1 to 16 columns of 1 and 2 bytes, on an
// H100; packedRead from rows of 32 to 128 bytes on an H200.
const (
	fieldStart     = 3 // how many fields cost as much as a row without any
	measuredFields = 2 // fields of the rows whose time is the rate

	packing      = 1.1 // by how much longer a byte takes in the pass of columns of any widths than in one of whole rows
	packedRead   = 1.9 // how many placed values cost as much as reading a stripe of a packed row
	packedStripe = 64  // bytes of a stripe: stripeBytes of package phj
	position     = 4   // bytes of a packed row's position
)

// gather returns the ms of gathering one side's packed payload.
func (r *DeviceRates) gather(results, payload float64, c Carried) float64 {
	bytes := position + payload
	if c.Copied {
		bytes += 2 * position
	}
	return results * (bytes/r.MatchGB + max(payload/packedStripe, 1)*packedRead/r.PlaceGps) / perMS
}

// emitted is by how much less it costs to write a field to the result than to move a row
// through a pass of fields.
const emitted = 9

// passes returns the ms of a side's two passes and the bytes of a row that the
// match reads.
func (r *DeviceRates) passes(rows, key, payload float64, t Transform, c Carried) (ms, final float64) {
	const number = 4
	carried := 4 * float64(c.Words)
	var first, second float64 // bytes read and written for a row
	switch t {
	case Carry:
		first, second, final = 2*key+payload+carried, 2*(key+carried), key+carried
	case Place, Pack:
		first, second, final = 2*key+payload+carried, 2*key+number, key+number
	case Fetch:
		first, second, final = 2*key+number, 2*(key+number), key+number
	}
	ns := max(first/r.PassGB, r.RankNS)
	if t == Pack || c.AsPacked {
		fields := c.Fields
		if t == Pack {
			fields = c.Words
		}
		ns = max(first*packing/r.PassGB, r.FieldNS*(float64(fields)+fieldStart)/(measuredFields+fieldStart))
	}
	if !c.OnePass {
		ns += max(second/r.PassGB, r.RankNS)
	}
	return rows * ns / perMS, final
}

// fetches returns the ms by which a match fetches payload. Of rows that are
// wanted again soon the values are in the cache; so are those with hot keys,
// which partitioning leaves in order. After one pass the row numbers of a
// partition still ascend: what is read for each lies further on in memory.
func (r *DeviceRates) fetches(j *Resident, m Materialisation, carried [2]Carried, v volumes, hot float64) (ms float64) {
	if m.Probe == Place {
		ms += v.matched * placedFetches(carried[1], len(j.Payload[1])) / r.PlaceGps / perMS
	}
	bytes, first, again := 0.0, 0.0, 0.0
	touched := j.touched(v, hot)
	for i, t := range [2]Transform{m.Build, m.Probe} {
		if t == Fetch {
			columns := float64(len(j.Payload[i]))
			bytes += float64(j.Rows[i]) * bytesOf(j.Payload[i])
			first += columns * touched[i]
			again += columns * (v.results - touched[i])
		}
	}
	rates := *r
	if j.KeyBytes > 4 {
		rates.FetchGps = r.WideGps
	}
	if carried[1].OnePass {
		rates.FetchGps = max(rates.FetchGps, r.ReadGB/sector)
	}
	return ms + rates.fetch(first, bytes) + again/r.CachedGps/perMS
}

// placedFetches returns how many rows with one stripe of placed payload cost as much as one of this
// side. A stripe of a row buffer has 16 bytes of payload.
func placedFetches(c Carried, columns int) float64 {
	stripes := max(1, float64(c.Words)/4)
	if columns > 4 {
		stripes *= manyPlaced
	}
	return stripes
}

// manyPlaced is how much more a stripe costs if payload has more than 4 columns: measured with 8, on
// an H100 and an H200.
const manyPlaced = 1.8

// touched returns how many different rows of each side are in the result,
// without those that keep being there for hot keys; matches are spread evenly.
func (j *Resident) touched(v volumes, hot float64) [2]float64 {
	cold := max(v.matched-hot, 0)
	share := 0.0
	if v.matched > 0 {
		share = v.results / v.matched
	}
	build := 0.0
	if v.build > 0 {
		build = v.build * (1 - math.Exp(-cold*share/v.build))
	}
	return [2]float64{build, cold}
}

// Method is an algorithm for a join of resident columns and its predicted cost.
type Method struct {
	Algorithm joincore.Algorithm
	Materialisation
	Prediction Prediction
}
