package exec

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

const (
	leastRegion   = 1 << 17 // bytes of random accesses that hit a core's own cache
	largestRegion = 1 << 27 // these miss all caches
	loads         = 1 << 15 // of one measurement
	tries         = 3       // the fastest counts: the others were disturbed

	// A region counts as cached until this part of its loads misses, and as uncached
	// from one less this part on.
	cachedPart = 0.07
)

// machine measures the primitives of native plans on one core, within 0.2 s. Without
// memory for the region where loads miss, those of memory are assumed: in a smaller region
// loads would hit a cache.
func machine(mem joincore.Memory) (costmodel.Machine, error) {
	m := costmodel.TypicalMachine
	m.ProbeNS = cachedProbe()
	region, err := chain(mem)
	if errors.Is(err, joincore.ErrBudget) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer mem.Free(region)
	var sizes, times []float64
	for size := leastRegion; size <= len(region); size *= 2 {
		sizes = append(sizes, float64(size))
		times = append(times, follow(region[:size]))
	}
	m.LoadNS = times[len(times)-1]
	m.CachedBytes = crossing(sizes, times, cachedPart)
	m.UncachedBytes = max(crossing(sizes, times, 1-cachedPart), 2*m.CachedBytes)
	return m, nil
}

// chain returns memory whose cache lines each hold the number of the next one. The
// lines of any power of two of bytes from the start form one cycle without a pattern
// that a prefetcher would find, if numbers are taken modulo their count: a linear
// congruential generator has a full period for each power of two.
func chain(mem joincore.Memory) ([]byte, error) {
	region, err := mem.Alloc(largestRegion)
	if err != nil {
		return nil, err
	}
	for i := range uint32(largestRegion / lineBytes) {
		binary.LittleEndian.PutUint32(region[i*lineBytes:], i*1664525+1013904223)
	}
	return region, nil
}

// follow returns the time of a load from the region in ns.
func follow(region []byte) float64 {
	mask := uint32(len(region)/lineBytes - 1)
	best := math.Inf(1)
	var at uint32
	for range tries + 1 { // the first one brings small regions into the cache
		start := time.Now()
		for range loads {
			at = binary.LittleEndian.Uint32(region[at*lineBytes:]) & mask
		}
		best = min(best, float64(time.Since(start).Nanoseconds())/loads)
	}
	runtime.KeepAlive(at)
	return best
}

// crossing returns the size at which this part of the way from the least time to the
// last one is reached, interpolated between sizes that double.
func crossing(sizes, times []float64, part float64) float64 {
	last := len(times) - 1
	level := times[0] + part*(times[last]-times[0])
	for i := 1; i <= last; i++ {
		if times[i] >= level {
			f := (level - times[i-1]) / max(times[i]-times[i-1], 1e-9)
			return sizes[i-1] * math.Exp2(min(max(f, 0), 1))
		}
	}
	return sizes[last]
}

// cachedProbe returns the time in ns of a probe of a hash table that a core's own cache
// holds, with keys in no order.
func cachedProbe() float64 {
	const slots, keys = 1 << 11, 1 << 10
	var table [slots]uint64
	var probes [keys]uint64
	for i := range probes {
		key := uint64(i+1) * 0xd6e8feb86659fd93
		at := key * scatter >> 53
		for table[at] != 0 {
			at = (at + 1) % slots
		}
		table[at] = key
		probes[uint64(i)*509%keys] = key
	}
	best := math.Inf(1)
	var sum uint64
	for range tries {
		start := time.Now()
		for i := range loads {
			key := probes[(uint64(i)*1664525+sum&1)%keys]
			at := key * scatter >> 53
			for table[at] != key {
				at = (at + 1) % slots
			}
			sum += at
		}
		best = min(best, float64(time.Since(start).Nanoseconds())/loads)
	}
	runtime.KeepAlive(sum)
	return best
}
