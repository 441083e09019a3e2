package choose

// Resident is a join of columns that lie in a device's memory.
type Resident struct {
	KeyBytes   int
	Rows       [2]int64 // build, probe
	Payload    [2][]int // bytes of each payload column's values
	MatchRatio float64  // probe rows with a match; 1 where that is unknown
	Hot        float64  // probe rows with one of few keys that each have one build row
}

// Transform is how a side's payload comes to the result.
type Transform uint8

const (
	// Carry moves payload with the key in every pass (GFTR).
	Carry Transform = iota
	// Place moves it with the key in the first pass and fetches it from there.
	Place
	// Fetch fetches it from the input by row number (GFUR).
	Fetch
)

// Materialisation is the decision for a join.
type Materialisation struct {
	Build, Probe Transform
	Bypass       bool    // probe rows with hot keys are joined without partitioning
	MS           float64 // predicted
}

// DeviceRates are what primitives cost on a device. They can be cached as JSON.
type DeviceRates struct {
	ReadGB   float64 `json:"read_gb"`   // GB/s read in order
	PassGB   float64 `json:"pass_gb"`   // GB/s read and written by a partition pass
	MatchGB  float64 `json:"match_gb"`  // GB/s read and written by a match
	MatchNS  float64 `json:"match_ns"`  // ns that a match takes at least for a row of either side
	FetchGps float64 `json:"fetch_gps"` // 1e9 values/s by row number from anywhere
	NearGps  float64 `json:"near_gps"`  // 1e9 rows/s by place, from what the cache holds
	RankNS   float64 `json:"rank_ns"`   // ns that a pass takes at least for a row
	BypassGB float64 `json:"bypass_gb"` // GB/s read and written where hot keys are joined without partitioning
}

// DefaultDeviceRates are those of an H200; they serve where none were measured.
var DefaultDeviceRates = DeviceRates{
	ReadGB: 3900, PassGB: 3050, MatchGB: 3350, MatchNS: 0.0047, FetchGps: 41, NearGps: 28, RankNS: 0.004, BypassGB: 2700,
}

// Materialisation chooses the cheapest way by the model.
func (r *DeviceRates) Materialisation(j Resident) Materialisation {
	best := Materialisation{}
	best.MS = r.Predict(j, best)
	for _, build := range []Transform{Carry, Fetch} { // build rows are met in any order: their places are no better than row numbers
		for _, probe := range []Transform{Carry, Place, Fetch} {
			for _, bypass := range []bool{false, true} {
				m := Materialisation{Build: build, Probe: probe, Bypass: bypass}
				if bypass && (probe != Carry || j.Hot == 0) {
					continue
				}
				if m.MS = r.Predict(j, m); m.MS < best.MS {
					best = m
				}
			}
		}
	}
	return best
}

// perMS is the bytes that 1 GB/s moves in a ms, and the values of 1e9/s.
const perMS = 1e6

// Predict returns the milliseconds that the model gives a join: a read of all
// keys for the histogram, two passes over each side, the match. The match
// fetches while it computes, so that the longer of both counts.
func (r *DeviceRates) Predict(j Resident, m Materialisation) float64 {
	probed := float64(j.Rows[1])
	matches := probed * j.MatchRatio
	outBytes := float64(j.KeyBytes) + bytesOf(j.Payload[0]) + bytesOf(j.Payload[1])
	ms := (float64(j.Rows[0]) + probed) * float64(j.KeyBytes) / perMS / r.ReadGB
	if m.Bypass {
		hot := probed * j.Hot
		ms += (probed*(float64(j.KeyBytes)+bytesOf(j.Payload[1])) + hot*outBytes) / perMS / r.BypassGB // hot rows lie everywhere
		ms += probed * r.RankNS / perMS                                                                // the first pass still sees every row
		probed -= hot
		matches = max(matches-hot, 0)
	}
	var match, fetch, near float64
	for i, t := range []Transform{m.Build, m.Probe} {
		const number = 4
		key, payload := float64(j.KeyBytes), bytesOf(j.Payload[i])
		rows := float64(j.Rows[0])
		if i == 1 {
			rows = probed
		}
		var first, second, final float64 // bytes a row
		switch t {
		case Carry:
			first, second, final = 2*(key+payload), 2*(key+payload), key+payload
		case Place:
			first, second, final = 2*(key+payload), 2*key+number, key+number
			near += matches
		case Fetch:
			first, second, final = 2*key+number, 2*(key+number), key+number
			fetch += matches * float64(len(j.Payload[i]))
		}
		for _, bytes := range []float64{first, second} {
			ms += rows * max(bytes/r.PassGB, r.RankNS) / perMS
		}
		match += rows * final
	}
	memory := (match+matches*outBytes)/r.MatchGB + fetch/r.FetchGps + near/r.NearGps
	return ms + max(memory, (float64(j.Rows[0])+probed)*r.MatchNS)/perMS
}

func bytesOf(widths []int) (n float64) {
	for _, w := range widths {
		n += float64(w)
	}
	return n
}
