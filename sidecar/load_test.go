package sidecar

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gpujoin/joincore/planjson"
	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// procOf makes a /proc with the times of threads.
func procOf(t *testing.T, dir string, threads map[string]string) {
	t.Helper()
	tasks := filepath.Join(dir, "self", "task")
	must(t, os.RemoveAll(tasks))
	must(t, os.MkdirAll(tasks, 0o700))
	for id, text := range threads {
		must(t, os.Mkdir(filepath.Join(tasks, id), 0o700))
		must(t, os.WriteFile(filepath.Join(tasks, id, "schedstat"), []byte(text), 0o600))
	}
}

func TestLoadMeter(t *testing.T) {
	m := &loadMeter{proc: "/proc"}
	m.proc = t.TempDir()
	look := func() (share uint32) {
		for range shareBeats {
			share = m.measure().ProcessorShare
		}
		return share
	}
	if share := look(); share != 1000 {
		t.Errorf("without numbers: share %d", share)
	}
	procOf(t, m.proc, map[string]string{"10": "0 0 1\n", "11": "0 0 1\n"})
	if share := look(); share != 1000 {
		t.Errorf("an idle daemon: share %d", share)
	}
	// Two threads that get a quarter of what they ask for, one of which is new.
	procOf(t, m.proc, map[string]string{"10": "100000000 300000000 9\n", "12": "100000000 300000000 9\n"})
	if share := look(); share != 250 {
		t.Errorf("a starved daemon: share %d", share)
	}
	// The same numbers again: nothing was asked for, which is forgotten.
	for range 40 {
		look()
	}
	if share := look(); share != 1000 {
		t.Errorf("idle again: share %d", share)
	}
	for _, text := range []string{"", "x", "1", "1 x", "1 2 3", "a b c d", "a b c 1", "a b c x/2"} {
		procOf(t, m.proc, map[string]string{"10": text})
		look()
	}
	procOf(t, m.proc, map[string]string{"10": fmt.Sprint(uint64(1)<<63, uint64(1)<<63)})
	look()
	if share := look(); share > 1000 {
		t.Errorf("share %d", share)
	}
}

// TestLoadBeforeTheFirstLook: how the daemon fared before, while it measured
// joins for instance, says nothing of now.
func TestLoadBeforeTheFirstLook(t *testing.T) {
	m := &loadMeter{proc: "/proc"}
	m.proc = t.TempDir()
	procOf(t, m.proc, map[string]string{"10": "1000000000 9000000000 9\n"})
	if l := m.measure(); l.ProcessorShare != 1000 {
		t.Errorf("a share of %d", l.ProcessorShare)
	}
}

// TestStatusFileIsDated: planners see from the status file what the daemon speaks, and
// how old its load is.
func TestStatusFileIsDated(t *testing.T) {
	r := start(t, nil, nil)
	b, err := os.ReadFile(r.path + ".status")
	must(t, err)
	s, err := shm.DecodeStatus(b)
	must(t, err)
	var now unix.Timespec
	must(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	if age := now.Nano()/1000 - int64(s.Load.AtUS); age < 0 || age > int64(time.Minute/time.Microsecond) {
		t.Errorf("the load is %d µs old", age)
	}
	if s.ProtocolVersion != shm.ProtocolVersion || s.JobVersion != planjson.Version || !s.Load.Whole() {
		t.Errorf("%+v", s)
	}
}
