package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gpujoin/tests/harness"
)

// usage is what a process holds.
type usage struct {
	PSS       float64 // MB of resident memory; of what n processes map, the nth part
	Anonymous float64 // MB, of resident memory that no other process shares
	Shared    float64 // MB, of mapped memfds: the shared memory of jobs
	Files     float64 // open descriptors
	Threads   float64
	title     string
}

// metrics are the parts of a usage that are judged, with what may be added to a tenth of the
// level without being growth: caches of the server, of the allocator and of Go's runtime fill
// at random moments.
var metrics = []struct {
	name      string
	allowance float64
	of        func(*usage) float64
}{
	{"anonymous MB", 24, func(u *usage) float64 { return u.Anonymous }},
	{"PSS MB", 64, func(u *usage) float64 { return u.PSS }},
	{"shared MB", 32, func(u *usage) float64 { return u.Shared }},
	{"descriptors", 16, func(u *usage) float64 { return u.Files }},
	{"threads", 6, func(u *usage) float64 { return u.Threads }},
}

const megabyte = 1 << 20

// usageOf reads it. A process that has just ended is an error.
func usageOf(pid int) (u usage, err error) {
	status, err := fields(pid, "status")
	if err != nil {
		return u, err
	}
	u.Anonymous, u.Threads = status["RssAnon"]/1024, status["Threads"]
	rollup, err := fields(pid, "smaps_rollup")
	if err != nil {
		return u, err
	}
	u.PSS = rollup["Pss"] / 1024
	h, err := harness.HoldingsOf(pid)
	if err != nil {
		return u, err
	}
	u.Shared, u.Files = float64(h.Mapped)/megabyte, float64(h.FDs)
	return u, nil
}

// fields returns the numbers of a file below /proc, by name.
func fields(pid int, file string) (map[string]float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return nil, err
	}
	found := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, ":")
		if words := strings.Fields(rest); len(words) > 0 {
			if value, err := strconv.ParseFloat(words[0], 64); err == nil {
				found[name] = value
			}
		}
	}
	return found, nil
}

// titleOf returns what a process of the server says it is, such as "checkpointer".
func titleOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "" // it has ended
	}
	title, _, _ := strings.Cut(string(data), "\x00")
	title = strings.TrimSpace(strings.TrimPrefix(title, "postgres: "))
	if strings.Contains(title, "[local]") {
		return "session"
	}
	return strings.TrimSpace(filepath.Base(title))
}

// sample is one look at all processes.
type sample struct {
	at        time.Duration // since the begin
	processes map[int]usage
	sums      map[string]usage // of all processes of a kind
}

// Kinds of processes.
const (
	kindDaemon = "gpujoind"
	kindWorker = "gpujoind's workers"
	kindServer = "server, all processes"
)

// look samples the server, the daemon and their children.
func (w *world) look(at time.Duration) (sample, error) {
	s := sample{at: at, processes: map[int]usage{}, sums: map[string]usage{}}
	daemon, server := w.pair.Daemon.PID(), w.pair.Cluster.Server().PID()
	workers, err := harness.ChildrenOf(daemon)
	if err != nil {
		return s, err
	}
	backends, err := harness.ChildrenOf(server)
	if err != nil {
		return s, err
	}
	for kind, pids := range map[string][]int{kindDaemon: {daemon}, kindWorker: workers, kindServer: append(backends, server)} {
		for _, pid := range pids {
			u, err := usageOf(pid)
			if err != nil {
				continue // it has ended
			}
			u.title = titleOf(pid)
			if kind != kindDaemon { // which is one process and judged as such
				s.processes[pid] = u
			}
			sum := s.sums[kind]
			s.sums[kind] = usage{PSS: sum.PSS + u.PSS, Anonymous: sum.Anonymous + u.Anonymous, Shared: sum.Shared + u.Shared,
				Files: sum.Files + u.Files, Threads: sum.Threads + u.Threads}
		}
	}
	return s, nil
}
