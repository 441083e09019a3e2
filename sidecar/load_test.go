package sidecar

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// procOf makes a /proc with one number of runnable tasks and the times of threads.
func procOf(t *testing.T, dir, loadavg string, threads map[string]string) {
	t.Helper()
	tasks := filepath.Join(dir, "self", "task")
	must(t, os.RemoveAll(tasks))
	must(t, os.MkdirAll(tasks, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "loadavg"), []byte(loadavg), 0o600))
	for id, text := range threads {
		must(t, os.Mkdir(filepath.Join(tasks, id), 0o700))
		must(t, os.WriteFile(filepath.Join(tasks, id, "schedstat"), []byte(text), 0o600))
	}
}

func TestLoadMeter(t *testing.T) {
	m := newLoadMeter()
	m.proc = t.TempDir()
	look := func() (share, runnable uint32) {
		for range shareBeats {
			l := m.measure()
			share, runnable = l.ProcessorShare, l.Runnable
		}
		return share, runnable
	}
	if share, runnable := look(); share != 1000 || runnable != 0 {
		t.Errorf("without numbers: share %d, runnable %d", share, runnable)
	}
	procOf(t, m.proc, "0.1 0.2 0.3 9/400 1234\n", map[string]string{"10": "0 0 1\n", "11": "0 0 1\n"})
	if share, runnable := look(); share != 1000 || runnable != 800 {
		t.Errorf("an idle daemon: share %d, runnable %d", share, runnable)
	}
	// Two threads that get a quarter of what they ask for, one of which is new.
	procOf(t, m.proc, "0.1 0.2 0.3 9/400 1234\n", map[string]string{"10": "100000000 300000000 9\n", "12": "100000000 300000000 9\n"})
	if share, _ := look(); share != 250 {
		t.Errorf("a starved daemon: share %d", share)
	}
	// The same numbers again: nothing was asked for, which is forgotten.
	for range 40 {
		look()
	}
	if share, _ := look(); share != 1000 {
		t.Errorf("idle again: share %d", share)
	}
	procOf(t, m.proc, "0.1 0.2 0.3 1/400 1234\n", nil)
	for range 40 {
		look()
	}
	if _, runnable := look(); runnable != 0 {
		t.Errorf("a quiet machine has %d runnable", runnable)
	}
	for _, text := range []string{"", "x", "1", "1 x", "1 2 3", "a b c d", "a b c 1", "a b c x/2"} {
		procOf(t, m.proc, text, map[string]string{"10": text})
		if n, ok := runnableTasks(m.proc + "/loadavg"); ok {
			t.Errorf("%q means %v runnable", text, n)
		}
		look()
	}
	procOf(t, m.proc, "0 0 0 1/1 1", map[string]string{"10": fmt.Sprint(uint64(1)<<63, uint64(1)<<63)})
	look()
	if share, _ := look(); share > 1000 {
		t.Errorf("share %d", share)
	}
}

// TestLoadBeforeTheFirstLook: how the daemon fared before, while it measured
// joins for instance, says nothing of now.
func TestLoadBeforeTheFirstLook(t *testing.T) {
	m := newLoadMeter()
	m.proc = t.TempDir()
	procOf(t, m.proc, "0.1 0.2 0.3 9/400 1234\n", map[string]string{"10": "1000000000 9000000000 9\n"})
	if l := m.measure(); l.ProcessorShare != 1000 {
		t.Errorf("a share of %d", l.ProcessorShare)
	}
}
