package costmodel

import "math"

// What a Bloom filter of build keys is like: kernels/agent/bloom.cuh.
const (
	filterWord = 8        // bytes; a key has its bits in one word
	wellCached = 16 << 20 // bytes up to which a filter has two a key, from there on one
)

// FilterBytes returns the size in bytes of a Bloom filter for the keys of the
// given number of build rows: 16 bits per key if such a filter is well cached,
// else 8.
func FilterBytes(rows int64) int64 {
	bytes := max(rows, min(2*rows, wellCached))
	return max(bytes/filterWord, 1) * filterWord
}

// FilterLeaves returns the share of the probe rows without a match that such a
// filter leaves. Keys meet in words by a Poisson distribution; n keys leave a
// given bit of a half of 32 unset with q^n, q = (31/32)^2, and four bits have to
// be set: the mean of (1 - q^n)^4.
func FilterLeaves(rows int64) float64 {
	keys := float64(rows) * filterWord / float64(FilterBytes(rows))
	mean := func(power float64) float64 { return math.Exp(-keys * (1 - math.Pow(31./32, 2*power))) }
	return 1 - 4*mean(1) + 6*mean(2) - 4*mean(3) + mean(4)
}

// FilterFits reports whether this device can use a filter for the keys of the
// given number of build rows.
func (r *DeviceRates) FilterFits(rows int64) bool {
	return float64(FilterBytes(rows)) <= r.CacheMB*1e6
}

// filters says whether a filter is worth a prediction: below half of the rows it
// may gain more than the copies of what it leaves cost.
func (r *DeviceRates) filters(j *Resident) bool { return j.MatchRatio < 0.5 && r.FilterFits(j.Rows[0]) }

// FilterHandicap is by how much a filter has to win: all of its cost is sure, and
// what it gains is as sure as the sample.
const FilterHandicap = 1.05

// reduction models a filter of the join's own build keys.
func (r *DeviceRates) reduction(j *Resident) (ms float64, left Resident) {
	return r.reductionBy(j, j.Rows[0])
}

// reductionBy models a filter for the keys of some build rows, into which those of the join are entered,
// and the copy of what it leaves, and returns the join of that. Every build row looks at its word and
// sets it; the probe side's keys are read and looked up, and values of rows that are left are read by
// sectors.
func (r *DeviceRates) reductionBy(j *Resident, build int64) (ms float64, left Resident) {
	v, key := j.volumes(), float64(j.KeyBytes)
	kept := v.matched + (v.probe-v.matched)*FilterLeaves(build)
	share := kept / max(v.probe, 1)
	// Each half of the cache keeps what its multiprocessors read for itself.
	far := r.beyond(2 * float64(FilterBytes(build)))
	look := far/r.FetchGps + (1-far)/r.FilterGps
	bytes := v.probe*key + kept*(key+bytesOf(j.Payload[1]))
	for _, w := range j.Payload[1] {
		bytes += SectorBytes(v.probe, share, w)
	}
	ms = v.build*(key/r.ReadGB+2*look)/perMS + math.Hypot(v.probe*look, bytes/r.ReadGB)/perMS + filterLaunches*r.LaunchMS

	left = *j
	left.Rows[1] = int64(kept)
	if kept > 0 {
		left.MatchRatio, left.Hot = min(v.matched/kept, 1), min(v.probe*j.Hot/kept, 1)
	}
	if left.ResultRows <= j.Rows[1] { // no more than one for each probe row
		left.ResultRows = 0
	}
	return ms, left
}

// filterLaunches: to clear and to fill the filter, to reduce the probe side, and
// until the host knows by how much.
const filterLaunches = 4

// sector is the bytes by which memory is read.
const sector = 64

// SectorBytes returns the bytes that are read of a column, whose values have
// width bytes, for a random share of its rows.
func SectorBytes(rows, share float64, width int) float64 {
	return rows * float64(width) * (1 - math.Pow(1-share, sector/float64(width)))
}
