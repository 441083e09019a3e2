package costmodel

import "gpujoin/joincore"

// PredictSort models a sort-merge join: a histogram of all digits, passes over
// both sides, the merge and, unless om is set, the gather of payload.
func (r *DeviceRates) PredictSort(j *Resident, om bool) Prediction {
	v, key := j.volumes(), float64(j.KeyBytes)
	p := Prediction{{PhaseHistogram, (v.build+v.probe)*max(key/r.ReadGB, r.CountNS)/perMS + r.LaunchMS}}
	rows := [2]float64{v.build, v.probe}
	var sort, merged, out, gather float64
	out = key
	touched := j.touched(v, v.probe*j.Hot)
	for i, widths := range j.Payload {
		moved := widths
		if byID := !om && (len(widths) > 1 || len(widths) == 1 && widths[0] > 4); byID {
			moved = []int{4}
			for _, w := range widths {
				again := (v.results - touched[i]) * float64(4+2*w) / r.ReadGB / perMS // in order
				gather += r.fetch(touched[i], float64(j.Rows[i])*float64(w)) + again + r.LaunchMS
			}
		}
		bytes, columns := key, 1.0
		for _, w := range moved {
			bytes += float64(max(w, 4)) // narrower runs fill no sector
			columns += float64(max(w, 8)) / 8
		}
		sort += rows[i] * (2*bytes/r.SortGB + columns*r.SortNS)
		merged += rows[i] * (key + bytesOf(moved))
		out += bytesOf(moved)
	}
	passes := float64(j.SortPasses)
	p = append(p, PhaseMS{PhaseSort, passes * (sort/perMS + r.LaunchMS)})
	ns := (merged+v.results*out)/r.MergeGB + (v.build+v.probe)*r.MergeNS + v.more*r.MoreNS
	p = append(p, PhaseMS{PhaseMerge, ns/perMS + 3*r.LaunchMS})
	if gather > 0 {
		p = append(p, PhaseMS{PhaseGather, gather})
	}
	return p
}

// PredictTable models a no-partitioning join: every build row is inserted into
// one table and every probe row is looked up in it. The table is an array if
// the build keys are known to be dense (Resident.Array). A single build column
// is fetched during the probe; several are gathered afterwards.
func (r *DeviceRates) PredictTable(j *Resident) Prediction {
	v, key := j.volumes(), float64(j.KeyBytes)
	hot := v.probe * j.Hot
	cold, coldResults := v.probe-hot, max(v.results-hot, 0)
	table, array := r.hashTable, j.Array.Bytes > 0
	if array {
		table = r.array
	}
	build, find := table(j, v, cold)
	fetched := func(width float64) float64 {
		among := v.build * width
		if array && len(j.Payload[0]) == 1 {
			among = j.besideArray(v)
		}
		return r.fetch(coldResults, among) + (v.results-coldResults)/r.CachedGps/perMS
	}
	written := key + bytesOf(j.Payload[1])
	probe := find + hot/r.CachedGps/perMS + r.fetch(v.more, float64(j.TableBytes)) + r.LaunchMS
	if key > 4 && !array {
		probe += fetched(key) // the table tells such keys apart by a part of them
	}
	gather := 0.0
	for _, w := range j.Payload[0] {
		if len(j.Payload[0]) == 1 {
			written += float64(w)
			probe += fetched(float64(w))
			continue
		}
		gather += fetched(float64(w)) + r.LaunchMS
	}
	if gather > 0 {
		written += 4 // row numbers
	}
	read := v.probe * (key + bytesOf(j.Payload[1]))
	p := Prediction{{PhaseBuild, build}, {PhaseProbe, probe + (read+v.results*written)/r.MatchGB/perMS}}
	if gather > 0 {
		p = append(p, PhaseMS{PhaseGather, gather})
	}
	return p
}

// Named returns algorithm a with its prediction, as it runs when it is
// requested by name.
func (r *DeviceRates) Named(j *Resident, a joincore.Algorithm) Method {
	m := Method{Algorithm: a}
	switch a {
	case joincore.SMJUM, joincore.SMJOM:
		m.Prediction = r.PredictSort(j, a.OM())
	case joincore.NPJ:
		m.Prediction = r.PredictTable(j)
	default:
		if a == joincore.PHJUM {
			m.Build, m.Probe = Fetch, Fetch
		}
		m.Prediction = r.Predict(j, m.Materialisation)
	}
	m.MS = m.Prediction.MS()
	return m
}

// Array describes the array, indexed by key, that replaces the hash table of a
// no-partitioning join if the build side's keys are dense. It holds a 4-byte
// row id for each key of their range.
type Array struct {
	Bytes int64 // 0: the keys are not dense, or their range is unknown
	// Near is the share of build rows whose key is near that of the previous
	// row, as in a table that was filled in key order.
	Near float64
}

const rowNumberBytes = 4

// RangeMS predicts the time, in ms, to find the range of the build keys, which
// tells whether they are dense. The device reads all keys and the host waits
// for the result.
func (r *DeviceRates) RangeMS(j *Resident) float64 {
	return float64(j.Rows[0])*float64(j.KeyBytes)/r.ReadGB/perMS + 3*r.LaunchMS
}

// RangeDecides reports whether to find the range of the build keys before
// choosing an algorithm: if an array for dense keys in order would save more
// than twice the time of finding it. The model assumes that half of all build
// sides have such keys, since tables are often joined by sequential ids.
func (r *DeviceRates) RangeDecides(j Resident) bool {
	if j.TableBytes == 0 {
		return false
	}
	dense := j
	dense.Array = Array{Bytes: rowNumberBytes * j.Rows[0], Near: 1}
	now, then := r.Pick(j), r.Pick(dense)
	return now.cost()-then.cost() > 2*r.RangeMS(&j)
}

// array returns the ms of entering the build rows into the array and of finding
// found probe rows in it, each with one access. Near accesses hit the cache.
func (r *DeviceRates) array(j *Resident, v volumes, found float64) (enter, find float64) {
	bytes := float64(j.Array.Bytes)
	far, near := r.beyond(bytes), v.build*j.Array.Near
	enter = bytes/r.ReadGB + near/r.CachedGps + (v.build-near)*(far*r.EnterNS+(1-far)*r.EnterCachedNS)
	return enter/perMS + r.LaunchMS, r.fetch(found, j.besideArray(v))
}

// besideArray returns the bytes among which a probe row looks for its partner and
// for the partner's value, if that is fetched on the way: they share the cache,
// each half of which keeps some of the other's, too.
func (j *Resident) besideArray(v volumes) float64 {
	const kept = 1.5 // 50 G/s over 67 MB and 81 over 50 on an H200
	bytes := float64(j.Array.Bytes)
	if len(j.Payload[0]) == 1 {
		bytes += v.build * bytesOf(j.Payload[0])
	}
	return kept * bytes
}

// hashTable does so for a hash table.
func (r *DeviceRates) hashTable(j *Resident, v volumes, found float64) (enter, find float64) {
	far := r.beyond(float64(j.TableBytes))
	enter = v.build * (far*r.EnterNS + (1-far)*r.EnterCachedNS)
	find = found * (far*r.FindNS + (1-far)*r.FindCachedNS)
	return enter/perMS + 2*r.LaunchMS, find / perMS
}

// Grouping describes filters and an aggregate over rows before they run.
type Grouping struct {
	Rows, Groups int64
	Bytes        int64 // of the columns of a row that are read
	Operations   int   // comparisons and operations of a row
	Functions    int   // of the aggregate; 0: the rows are only filtered
}

// Times of a core for a row, in ns: an operation, finding a group, and adding a value
// to it. Groups that do not fit a core's cache are partitioned first, which takes as
// long as finding them a few times.
const (
	operationNS  = 1.5
	findGroupNS  = 8
	addValueNS   = 2
	cachedGroups = 1 << 16
	farGroupNS   = 15
)

// PredictGroups returns the predicted time, in ms, of filters and an aggregate on the
// given number of cores.
func PredictGroups(g Grouping, cores int) float64 {
	ns := operationNS * float64(g.Operations)
	if g.Functions > 0 {
		ns += findGroupNS + addValueNS*float64(g.Functions)
		if g.Groups > cachedGroups {
			ns += farGroupNS
		}
	}
	return float64(g.Rows) * ns / float64(max(cores, 1)) / perMS
}

// What a device takes for a row and for each operation, in ns, as measured on an H100,
// and the groups that a block keeps in shared memory. A table has at least twice as many
// slots as groups.
const (
	deviceRowNS       = 0.008
	deviceOperationNS = 0.004
	blockGroups       = 1 << 12
	groupKeyBytes     = 8
	groupCellBytes    = 16 // that a function adds to
)

// PredictGroups returns the predicted time, in ms, of filters and an aggregate of
// columns in the device's memory. They are read once, and expressions are evaluated
// meanwhile. Values are added to few groups in shared memory, else where the table is.
func (r *DeviceRates) PredictGroups(g Grouping) float64 {
	rows := float64(g.Rows)
	read, work := rows*float64(g.Bytes)/r.ReadGB, rows*(deviceRowNS+deviceOperationNS*float64(g.Operations+g.Functions))
	ms := r.LaunchMS + max(read, work)/perMS
	if g.Functions == 0 || g.Groups <= blockGroups {
		return ms
	}
	rate := r.CachedGps
	if 2*float64(g.Groups)*float64(groupKeyBytes+groupCellBytes*g.Functions) > r.CacheMB*1e6 {
		rate = r.FetchGps
	}
	return ms + rows*float64(1+g.Functions)/rate/perMS
}
