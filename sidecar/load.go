package sidecar

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"

	"gpujoin/shm"
)

// loadMeter measures what the machine leaves to the daemon. It belongs to the
// pulse's thread.
type loadMeter struct {
	proc     string // "/proc"
	beats    uint64
	runnable float64
	threads  map[string]schedTimes // by id; nil: not looked at yet
	ran      float64               // ns lately, by all threads of the daemon
	waited   float64
}

// schedTimes are of one thread, since it began.
type schedTimes struct{ ran, waited float64 }

const (
	runnableDecay = 0.9  // a beat: a mean over about a second
	shareBeats    = 5    // from one look at the threads to the next
	shareDecay    = 0.8  // a look: half of it within 1.6 s
	shareLeast    = 20e6 // ns of running and waiting below which a share means nothing
)

func newLoadMeter() *loadMeter {
	return &loadMeter{proc: "/proc", runnable: math.NaN()}
}

// measure returns the parts of the load that are not the jobs', one beat later
// than the call before.
func (m *loadMeter) measure() shm.Load {
	m.beats++
	if n, ok := runnableTasks(m.proc + "/loadavg"); ok {
		if math.IsNaN(m.runnable) {
			m.runnable = n
		}
		m.runnable = runnableDecay*m.runnable + (1-runnableDecay)*n
	}
	if m.beats%shareBeats == 1 {
		m.look()
	}
	l := shm.Load{Beats: m.beats, ProcessorShare: m.share()}
	if !math.IsNaN(m.runnable) {
		l.Runnable = uint32(math.Min(m.runnable*100, math.MaxUint32))
	}
	return l
}

// share returns the daemon's share of the processor time that it was ready to
// use, in thousandths.
func (m *loadMeter) share() uint32 {
	if m.ran+m.waited < shareLeast {
		return 1000
	}
	return uint32(math.Round(1000 * m.ran / (m.ran + m.waited)))
}

// look adds up what the daemon's threads have run and waited since the last
// look. Kernels without these numbers leave both 0.
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
		if m.threads == nil { // what was before the first look is not of late
			continue
		}
		before := m.threads[e.Name()]
		m.ran += math.Max(0, t.ran-before.ran)
		m.waited += math.Max(0, t.waited-before.waited)
	}
	m.threads = now
}

// parseSchedstat reads "ran waited slices", times in ns.
func parseSchedstat(text []byte) (schedTimes, bool) {
	f := bytes.Fields(text)
	if len(f) < 2 {
		return schedTimes{}, false
	}
	ran, err1 := strconv.ParseUint(string(f[0]), 10, 64)
	waited, err2 := strconv.ParseUint(string(f[1]), 10, 64)
	return schedTimes{float64(ran), float64(waited)}, err1 == nil && err2 == nil
}

// runnableTasks reads how many tasks of the machine run or wait for a
// processor: the 2 of "0.20 0.18 0.12 2/80 11206". The caller is one of them
// and is not counted.
func runnableTasks(path string) (float64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	f := strings.Fields(string(text))
	if len(f) < 4 {
		return 0, false
	}
	n, _, ok := strings.Cut(f[3], "/")
	runnable, err := strconv.ParseUint(n, 10, 32)
	if !ok || err != nil {
		return 0, false
	}
	return math.Max(0, float64(runnable)-1), true
}
