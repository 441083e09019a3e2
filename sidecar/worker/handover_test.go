package worker

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpujoin/sidecar/memory"
	"gpujoin/testsupport/suite"
)

func itoa(n int) string { return strconv.Itoa(n) }

// mappings counts the extents that a process maps.
func mappings(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "maps"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "memfd:gpujoin")
}

// TestExtentsFollow: the child maps the extents that there are, once each, and
// no others; it keeps no descriptors of them.
func TestExtentsFollow(t *testing.T) {
	r := start(t, "cpu", nil)
	if err := r.store.Warm(t.Context(), 40*testExtentSize); err != nil {
		t.Fatal(err)
	}
	r.ready()
	r.eventually("40 extents are mapped", func() bool { return mappings(t, r.pid()) == 40 })
	for seed := range uint64(3) {
		plan, inputs := suite.RandomTree(seed, 3)
		r.compare(fmt.Sprint("seed ", seed), plan, inputs, 100)
	}
	fds, err := os.ReadDir(filepath.Join("/proc", itoa(r.pid()), "fd"))
	if err != nil || len(fds) > 25 {
		t.Errorf("%d descriptors, %v", len(fds), err)
	}
	r.idle()
	r.store.Trim(5*testExtentSize, 0)
	r.eventually("5 extents are mapped", func() bool { return mappings(t, r.pid()) == 5 })
	var list []*memory.Extent
	for range 30 {
		e, err := r.account.Extent(false)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	r.eventually("30 extents are mapped", func() bool { return mappings(t, r.pid()) == 30 })
	for _, e := range list {
		e.Release()
	}
}

// TestNoLeak: a thousand jobs leave the child as it was.
func TestNoLeak(t *testing.T) {
	r := start(t, "cpu", nil).ready()
	plan, inputs := suite.RandomTree(7, 2)
	state := func() (fds, maps int) {
		list, err := os.ReadDir(filepath.Join("/proc", itoa(r.pid()), "fd"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join("/proc", itoa(r.pid()), "maps"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list), strings.Count(string(text), "\n")
	}
	n := 1000
	if testing.Short() {
		n = 100
	}
	var fds, maps int
	for i := range n {
		if i == n/2 {
			fds, maps = state()
		}
		r.compare("job", plan, inputs, 100)
	}
	if f, m := state(); f > fds+2 || m > maps+20 {
		t.Errorf("%d descriptors and %d mappings, %d and %d after half of it", f, m, fds, maps)
	}
}

// TestOrphans: a child does not outlive the daemon that has started it, also
// where that is killed.
func TestOrphans(t *testing.T) {
	if os.Getenv("GPUJOIN_TEST_DAEMON") != "" {
		r := start(t, "cpu", nil).ready()
		fmt.Println("child", r.pid())
		time.Sleep(time.Minute)
	}
	// What is killed removes nothing; a socket's path must be short.
	dir, err := os.MkdirTemp("", "o")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.Command(os.Args[0], "-test.run=^TestOrphans$")
	cmd.Env = append(os.Environ(), "GPUJOIN_TEST_DAEMON=1", "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanf(out, "child %d\n", &pid); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // it was killed
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the child lives on")
		}
	}
}
