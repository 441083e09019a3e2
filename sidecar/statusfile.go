package sidecar

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"gpujoin/joincore/planjson"
	"gpujoin/shm"
	"gpujoin/version"

	"golang.org/x/sys/unix"
)

// statusFile is "<socket>.status", which backends read while they plan. Its
// lock shows that the daemon is running; its content holds the rates of joins.
type statusFile struct {
	path string

	mu      sync.Mutex
	file    *os.File
	content shm.Status
}

func (o *Options) status() shm.Status {
	rates := o.Rates.Now()
	s := shm.Status{
		Magic: shm.StatusMagic, Version: shm.LayoutVersion, ProtocolVersion: shm.ProtocolVersion, JobVersion: planjson.Version, PID: int32(os.Getpid()),
		Cores: uint32(o.Cores), Processors: uint32(o.Processors), ExtentSize: uint64(o.ExtentSize), Budget: uint64(o.MemoryBudget),
		BuildNS: rates.BuildNS, ProbeNS: rates.ProbeNS, ColumnNS: rates.ColumnNS,
		GroupNS: rates.GroupNS, FunctionNS: rates.FunctionNS, OperationNS: rates.OperationNS, ConditionNS: rates.ConditionNS,
		CachedProbeNS: rates.Machine.ProbeNS, MemoryLoadNS: rates.Machine.LoadNS,
		CachedBytes: rates.Machine.CachedBytes, UncachedBytes: rates.Machine.UncachedBytes,
	}
	shm.PutText(s.DaemonVersion[:], version.Text)
	return s
}

// publish puts a status file in place.
func publish(path string, content shm.Status) (*statusFile, error) {
	s := &statusFile{path: path, content: content}
	if err := s.place(); err != nil {
		return nil, fmt.Errorf("status file: %w", err)
	}
	return s, nil
}

// place writes the file under a temporary name, locks it and renames it, so
// that no reader sees a partial or unlocked file.
func (s *statusFile) place() error {
	temporary := s.path + ".new"
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := openLocked(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(shm.Append(nil, &s.content), 0)
	if err == nil {
		err = os.Rename(temporary, s.path)
	}
	if err != nil {
		f.Close()
		_ = os.Remove(temporary) // the first error counts
		return err
	}
	if s.file != nil {
		s.file.Close()
	}
	s.file = f
	return nil
}

// beat dates and seals the load and overwrites it in place with one write.
func (s *statusFile) beat(load shm.Load) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	load.AtUS = uint64(now.Nano() / 1000)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content.Load = load.Seal()
	_, err := s.file.WriteAt(shm.Append(nil, &s.content.Load), shm.LoadOffset())
	return err
}

// restore recreates the file if it was deleted.
func (s *statusFile) restore() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if leadsTo(s.path, s.file) {
		return nil
	}
	return s.place()
}

// update replaces the file by one with new content, except for what changes in
// place.
func (s *statusFile) update(content shm.Status) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	content.Stopping, content.Load = s.content.Stopping, s.content.Load
	s.content = content
	return s.place()
}

// stopping marks the daemon as stopping, so that planners do not use it.
func (s *statusFile) stopping() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content.Stopping = 1
	_, err := s.file.WriteAt(shm.Append(nil, &s.content), 0)
	return err
}

// remove deletes the file and releases its lock.
func (s *statusFile) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := os.Remove(s.path)
	s.file.Close() // after which the lock is gone
	return err
}

// pulse writes the daemon's load into its status file every shm.BeatMS
// milliseconds. Planners read from it how busy the daemon is, and waiting
// backends whether the daemon gets processor time.
//
// The pulse has a thread of its own with the highest priority that the daemon
// may give it, so it is the last of the daemon's threads to be starved. Before
// each write it takes the locks that answering a backend needs. If one of these
// locks is stuck, the pulse stops, and backends notice.
type pulse struct {
	read, write int // a pipe, closed to stop
	beats       atomic.Uint64
	done        sync.WaitGroup
}

// startPulse writes the load at once and then periodically until stop. It calls
// load on its own thread, except for the first time, and reports the first later
// error to failed.
func startPulse(status *statusFile, load func() shm.Load, failed func(error)) (*pulse, error) {
	if err := status.beat(load()); err != nil {
		return nil, fmt.Errorf("pulse: %w", err)
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("pulse: %w", err)
	}
	p := &pulse{read: ends[0], write: ends[1]}
	p.done.Go(func() {
		// The goroutine never unlocks its thread, so the thread ends with it and
		// no other goroutine inherits the priority.
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20) // ignored if it is not permitted
		said := false
		for !p.wait() {
			err := status.beat(load())
			p.beats.Add(1)
			if err != nil && !said {
				failed(err)
				said = true
			}
		}
	})
	return p, nil
}

// wait waits until the next write is due and reports whether the pulse was
// stopped instead. It waits in the kernel, because a Go timer would depend on
// Go's scheduler, which may be busy.
func (p *pulse) wait() (stopped bool) {
	fds := []unix.PollFd{{Fd: int32(p.read), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, shm.BeatMS)
	return n > 0 && err == nil
}

func (p *pulse) stop() {
	unix.Close(p.write)
	p.done.Wait()
	unix.Close(p.read)
}

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
