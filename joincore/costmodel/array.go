package costmodel

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
