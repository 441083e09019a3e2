package sidecar

import (
	"bytes"
	"math"
	"os"
	"strconv"

	"gpujoin/shm"
)

// loadMeter measures the daemon's share of processor time. Only the pulse's thread
// uses it.
type loadMeter struct {
	proc    string // "/proc"
	beats   uint64
	threads map[string]schedTimes // by thread id, at the last look; nil before the first
	ran     float64               // ns that the daemon's threads ran lately, decayed
	waited  float64               // ns that they waited for a processor, decayed
}

// schedTimes are the times of one thread since it started, in ns.
type schedTimes struct{ ran, waited float64 }

const (
	shareBeats = 5    // beats between two looks at the threads
	shareDecay = 0.8  // per look: a half-life of about 1.6 s
	shareLeast = 20e6 // minimum of ran + waited, in ns, for a meaningful share
)

func newLoadMeter() *loadMeter {
	return &loadMeter{proc: "/proc"}
}

// measure returns the load without the numbers of jobs and threads. It is called
// once per beat.
func (m *loadMeter) measure() shm.Load {
	m.beats++
	if m.beats%shareBeats == 1 {
		m.look()
	}
	return shm.Load{Beats: m.beats, ProcessorShare: m.share()}
}

// share returns the daemon's share of the processor time that it was ready to
// use, in thousandths.
func (m *loadMeter) share() uint32 {
	if m.ran+m.waited < shareLeast {
		return 1000
	}
	return uint32(math.Round(1000 * m.ran / (m.ran + m.waited)))
}

// look adds the times that the daemon's threads have run and waited since the
// last look. Both stay 0 if the kernel does not provide schedstat.
func (m *loadMeter) look() {
	dir := m.proc + "/self/task/"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	now := make(map[string]schedTimes, len(entries))
	m.ran *= shareDecay
	m.waited *= shareDecay
	for _, e := range entries {
		text, err := os.ReadFile(dir + e.Name() + "/schedstat")
		if err != nil {
			continue // the thread has ended, or the kernel does not count
		}
		t, ok := parseSchedstat(text)
		if !ok {
			continue
		}
		now[e.Name()] = t
		if m.threads == nil { // times before the first look are too old to count
			continue
		}
		before := m.threads[e.Name()]
		m.ran += math.Max(0, t.ran-before.ran)
		m.waited += math.Max(0, t.waited-before.waited)
	}
	m.threads = now
}

// parseSchedstat parses "ran waited slices"; times are in ns.
func parseSchedstat(text []byte) (schedTimes, bool) {
	f := bytes.Fields(text)
	if len(f) < 2 {
		return schedTimes{}, false
	}
	ran, err1 := strconv.ParseUint(string(f[0]), 10, 64)
	waited, err2 := strconv.ParseUint(string(f[1]), 10, 64)
	return schedTimes{float64(ran), float64(waited)}, err1 == nil && err2 == nil
}
