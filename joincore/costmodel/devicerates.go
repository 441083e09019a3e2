package costmodel

import (
	"fmt"
	"math"
	"reflect"
)

// DeviceRates are the costs of a device's primitives. They are cached as JSON.
type DeviceRates struct {
	LaunchMS  float64 `json:"launch_ms"`  // ms of a kernel, whatever it does
	CacheMB   float64 `json:"cache_mb"`   // MB that fetches find in the device's cache
	ReadGB    float64 `json:"read_gb"`    // GB/s read in order
	FetchGps  float64 `json:"fetch_gps"`  // 1e9 values/s by row number from far beyond the cache
	WideGps   float64 `json:"wide_gps"`   // the same of a match whose keys have 8 bytes
	CachedGps float64 `json:"cached_gps"` // 1e9 values/s by row number from the cache

	PassGB   float64 `json:"pass_gb"`   // GB/s read and written by a partition pass
	RankNS   float64 `json:"rank_ns"`   // ns that it takes at least for a row
	FieldNS  float64 `json:"field_ns"`  // ns that a pass of columns of any widths takes at least for a row of two of them
	MatchGB  float64 `json:"match_gb"`  // GB/s read and written by a match
	MatchNS  float64 `json:"match_ns"`  // ns that it takes for a row of either side
	MoreNS   float64 `json:"more_ns"`   // ns for a result row beyond a probe row's first
	PlaceGps float64 `json:"place_gps"` // 1e9 stripes/s that it fetches from where a pass has placed them
	BypassGB float64 `json:"bypass_gb"` // GB/s read and written where hot keys are joined without partitioning
	// FilterGps is by how many keys a Bloom filter within the cache is looked at, 1e9/s.
	FilterGps float64 `json:"filter_gps"`

	CountNS float64 `json:"count_ns"` // ns that a sort's histogram takes at least for a row
	SortGB  float64 `json:"sort_gb"`  // GB/s read and written by a sort's pass
	SortNS  float64 `json:"sort_ns"`  // ns for a column of a row in it
	MergeGB float64 `json:"merge_gb"` // GB/s read and written by a merge
	MergeNS float64 `json:"merge_ns"` // ns for a row of either side in it

	EnterNS       float64 `json:"enter_ns"`        // ns to enter a row into a table far beyond the cache
	EnterCachedNS float64 `json:"enter_cached_ns"` // ns into one within it
	FindNS        float64 `json:"find_ns"`         // ns to look a row up in a table far beyond the cache
	FindCachedNS  float64 `json:"find_cached_ns"`  // ns in one within it

	LinkInGB  float64 `json:"link_in_gb"`  // GB/s from registered host memory
	LinkOutGB float64 `json:"link_out_gb"` // GB/s to it
}

// DefaultDeviceRates were measured on an H200. They apply if none were
// measured.
var DefaultDeviceRates = DeviceRates{
	LaunchMS: 0.015, CacheMB: 50, ReadGB: 3950, FetchGps: 38.5, WideGps: 35, CachedGps: 145,
	PassGB: 3150, RankNS: 0.004, FieldNS: 0.012, MatchGB: 3720, MatchNS: 0.0048, MoreNS: 0.015, PlaceGps: 75, BypassGB: 3100, FilterGps: 120,
	CountNS: 0.00222, SortGB: 3030, SortNS: 0.0014, MergeGB: 1770, MergeNS: 0.0065,
	EnterNS: 0.105, EnterCachedNS: 0.05, FindNS: 0.035, FindCachedNS: 0.027,
	LinkInGB: 55, LinkOutGB: 55,
}

// furthest is by how much a rate may differ from the defaults: devices that
// joins run on are within it, files that were damaged hardly.
const furthest = 1000

// Check returns an error if r cannot hold measured rates.
func (r *DeviceRates) Check() error {
	got, usual := reflect.ValueOf(*r), reflect.ValueOf(DefaultDeviceRates)
	for i := range got.NumField() {
		v, u := got.Field(i).Float(), usual.Field(i).Float()
		if !(v >= u/furthest && v <= u*furthest) || math.IsInf(v, 0) {
			return fmt.Errorf("a rate of %g for %s", v, got.Type().Field(i).Tag.Get("json"))
		}
	}
	return nil
}

// beyond returns the share of random accesses to this number of bytes that miss
// the cache.
func (r *DeviceRates) beyond(bytes float64) float64 {
	return 1 - min(1, r.CacheMB*1e6/max(bytes, 1))
}

// fetch returns the ms of fetching n values by row number from a column of
// this size.
func (r *DeviceRates) fetch(n, bytes float64) float64 {
	far := r.beyond(bytes)
	return n * (far/r.FetchGps + (1-far)/r.CachedGps) / perMS
}

// perMS is the bytes that 1 GB/s moves in a ms, the values of 1e9/s, the ns.
const perMS = 1e6

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
