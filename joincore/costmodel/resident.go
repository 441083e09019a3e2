package costmodel

import "math"

// Resident describes a join of columns in a device's memory and how its
// executors would run it.
type Resident struct {
	KeyBytes   int
	Rows       [2]int64 // build, probe
	Payload    [2][]int // bytes of each payload column's values
	MatchRatio float64  // share of probe rows with a match; 1 if unknown
	Hot        float64  // share of probe rows with one of a few keys that each have one build row
	// ResultRows is the expected number of rows. It is used only if it exceeds
	// the number of probe rows. 0: unknown.
	ResultRows int64

	// Shape returns the materialisation that a partitioned hash join uses if
	// the given one is requested, subject to its kernels and memory, and how it
	// carries each side. nil: every request is met, without padding.
	Shape      func(Materialisation) (Materialisation, [2]Carried)
	SortPasses int   // over each side by a sort-merge join; 0: it cannot be sorted
	TableBytes int64 // size of the table of a no-partitioning join; 0: it cannot be built
	Array      Array // replaces the table if the build keys are known to be dense
}

// Carried describes a side's payload in the partition passes.
type Carried struct {
	Words    int  // of 4 bytes a row, padding included
	Fields   int  // of columns of any widths: the words that those of 1 and 2 bytes share, plus the number of the others; 0: all have 4 or all have 8 bytes
	AsPacked bool // of these, the first pass is that of packed rows
	Copied   bool // the positions of packed rows are copied before payload is gathered by them
	OnePass  bool // one pass suffices, so no payload is placed
}

// Transform is how a side's payload reaches the result.
type Transform uint8

const (
	// Carry moves payload with the key in every pass (GFTR).
	Carry Transform = iota
	// Place moves it with the key in the first pass and fetches it from there.
	Place
	// Pack does the same with all of a row's values in one place, and gathers them after
	// the match: for payload of any width.
	Pack
	// Fetch fetches it from the input by row number (GFUR).
	Fetch
)

// Materialisation is how a partitioned hash join brings payload to the result.
type Materialisation struct {
	Build, Probe Transform
	Bypass       bool    // probe rows with hot keys are joined without partitioning
	Bloom        bool    // a Bloom filter of the build keys drops probe rows first
	MS           float64 // predicted time
}

// wanted lists what can be asked of a partitioned hash join. Build rows are met
// in any order: their places are no better than row numbers.
func (r *DeviceRates) wanted(j *Resident) (list []Materialisation) {
	for _, build := range []Transform{Carry, Pack, Fetch} {
		for _, probe := range []Transform{Carry, Place, Pack, Fetch} {
			if build == Pack && !j.packs(0) || probe == Pack && !j.packs(1) || build == Pack && probe == Place {
				continue
			}
			list = append(list, Materialisation{Build: build, Probe: probe})
			if probe == Carry && build != Pack && j.Hot > 0 {
				list = append(list, Materialisation{Build: build, Probe: probe, Bypass: true})
			}
		}
	}
	if r.filters(j) {
		for _, m := range list {
			if m.Probe != Place { // of what is left most match
				m.Bloom = true
				list = append(list, m)
			}
		}
	}
	return list
}

// packs reports whether packing a side's payload can pay: one value moves with its key as
// cheaply as its position does.
func (j *Resident) packs(side int) bool { return bytesOf(j.Payload[side]) > narrowPayload }

// narrowPayload is up to how many bytes of payload are not worth packing.
const narrowPayload = 8

// shape returns what is done where m is wanted, and how each side is carried.
func (j *Resident) shape(m Materialisation) (Materialisation, [2]Carried) {
	if j.Shape != nil {
		return j.Shape(m)
	}
	var c [2]Carried
	for i, t := range [2]Transform{m.Build, m.Probe} {
		c[i].Words = 1
		if t != Fetch {
			c[i].Words = int(bytesOf(j.Payload[i])+3) / 4
		}
	}
	return m, c
}

// Materialisation chooses the materialisation with the lowest prediction among
// those that the executor supports.
func (r *DeviceRates) Materialisation(j Resident) Materialisation {
	best, cost := Materialisation{}, math.Inf(1)
	for _, m := range r.wanted(&j) {
		done, _ := j.shape(m)
		done.MS = r.Predict(&j, done).MS()
		judged := done.MS
		if done.Probe == Place {
			judged *= placeHandicap
		}
		if done.Bloom {
			judged *= FilterHandicap
		}
		if judged < cost {
			best, cost = done, judged
		}
	}
	return best
}

// placeHandicap is by how much a placed probe side has to win: how near what it
// fetches lies depends on more than the model knows.
const placeHandicap = 1.03

// volumes are the rows that a join handles.
type volumes struct {
	build, probe float64
	matched      float64 // probe rows with a partner
	results      float64
	more         float64 // results beyond one for each matched probe row
}

func (j *Resident) volumes() volumes {
	v := volumes{build: float64(j.Rows[0]), probe: float64(j.Rows[1])}
	v.matched = v.probe * j.MatchRatio
	v.results = v.matched
	if n := float64(j.ResultRows); n > v.probe {
		v.results = n
	}
	v.more = v.results - v.matched
	return v
}

// duplicates is the expected number of other build rows with the key of a build row.
func (v *volumes) duplicates() float64 {
	if v.more == 0 || v.matched == 0 {
		return 0
	}
	return v.more / v.matched
}

// outBytes is the width of a result row.
func (j *Resident) outBytes() float64 {
	return float64(j.KeyBytes) + bytesOf(j.Payload[0]) + bytesOf(j.Payload[1])
}

func bytesOf(widths []int) (n float64) {
	for _, w := range widths {
		n += float64(w)
	}
	return n
}
