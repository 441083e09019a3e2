package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpujoin/sidecar/config"
)

// TestCheckTriesWorker: without a daemon, a check starts the worker for a
// moment and joins.
func TestCheckTriesWorker(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "worker")
	build := exec.Command("go", "build", "-o", program, "gpujoin/testsupport/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "libcuda.so.1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(plugin string) (int, string) {
		t.Helper()
		var out strings.Builder
		code := Main([]string{
			"check", "--socket", filepath.Join(dir, "s"), "--memory-budget", "256MB", "--provider", "cuda", "--cuda-plugin", plugin,
		}, []string{"LD_LIBRARY_PATH=" + dir}, &out, &out)
		return code, out.String()
	}
	if code, out := check(program); code != ExitNoDaemon || !strings.Contains(out, "no GPU at all, 512 MB for joins, a test join returned the right 16384 rows") {
		t.Errorf("%d: %s", code, out)
	}
	for name, c := range map[string]struct{ text, want string }{
		"no worker": {"#!/bin/sh\necho 'no device today' >&2\nexit 1\n", "no device today"},
		"a liar":    {"#!/bin/sh\necho hello\n", "Unrecognized remote plugin message: hello"},
	} {
		other := filepath.Join(dir, "other")
		if err := os.WriteFile(other, []byte(c.text), 0o700); err != nil {
			t.Fatal(err)
		}
		if code, out := check(other); code != ExitFailure || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d: %s", name, code, out)
		}
	}
}

// TestWorkerMemory: the memory that the worker keeps between joins depends on what the daemon may
// use, not on the machine, and the largest budget bounds it together with the budget.
func TestWorkerMemory(t *testing.T) {
	const total = 80 << 30
	for _, c := range []struct{ budget, slabs, codes int64 }{
		{total / 4, total / 32 * 3, total / 32},
		{total / 10 * 8, total / 40 * 3, total / 40},
		{total / 10 * 9, -1, 0},
		{total, -1, 0},
	} {
		cfg := &config.Config{MemoryBudget: c.budget, Memory: config.Memory{Total: total, Machine: 16 * total}}
		settings, err := cudaWorker(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, bytes := range map[string]int64{"--slabs": c.slabs, "--codes": c.codes} {
			i := slices.Index(settings.Args, name)
			if want := strconv.FormatInt(bytes, 10); i < 0 || settings.Args[i+1] != want {
				t.Errorf("budget %d: the worker's arguments are %q, and not %s %s", c.budget, settings.Args, name, want)
			}
		}
	}
}
