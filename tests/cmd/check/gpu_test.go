package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is for programs that hang after some output.
const limit = 5 * time.Second

// fake makes a repository whose test programs are shell scripts.
func fake(t *testing.T, scripts map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, script := range scripts {
		program := filepath.Join(root, built, name+".test")
		err := errors.Join(
			os.MkdirAll(packageDir(root, name), 0o755),
			os.MkdirAll(filepath.Dir(program), 0o755),
			writeProgram(program, "#!/bin/sh\n"+script))
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// writeProgram writes an executable file. No process may be forked meanwhile: a child
// has the open file until its exec, and Linux executes no file that is open for writing.
func writeProgram(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o755)
}

// A hanging program is stopped at its limit, and its tests before that count.
func TestHangingProgramIsStopped(t *testing.T) {
	t.Parallel()
	root := fake(t, map[string]string{"phj": "echo '--- PASS: TestA (0.00s)'\ntrap '' INT\nsleep 60 & wait\nsleep 60\n"})
	g := &gpu{ends: time.Now().Add(time.Minute)}
	begin := time.Now()
	o := g.tests("phj", limit)[0].run(root)
	if o.passed != 1 || o.failed != 1 || !strings.Contains(o.note, "stopped after 5s") || time.Since(begin) > 50*time.Second {
		t.Errorf("%+v after %v", o, time.Since(begin))
	}
}

func TestNothingIsStartedWhenTimeIsOver(t *testing.T) {
	t.Parallel()
	root := fake(t, map[string]string{"phj": "touch started\necho '--- PASS: TestA (0.00s)'\n"})
	g := &gpu{ends: time.Now()}
	o := g.tests("phj", limit)[0].run(root)
	if _, err := os.Stat(filepath.Join(root, "joincore/cuda/columnar/phj/started")); err == nil || o.failed != 1 || o.note != "no time was left" {
		t.Errorf("%v, %+v", err, o)
	}
}

// Missing tests of an incomplete set are named, also if the program was stopped
// or a test failed.
func TestSetIsCounted(t *testing.T) {
	t.Parallel()
	begins := `echo '=== RUN   TestSet'
echo '    set_test.go:43: set ["keys alone" "carried, 4 bytes" "a group"], seed 7'
echo '    set_test.go:43: ran "keys alone" in 1.2s'
`
	for _, c := range []struct{ ends, note string }{
		{"echo '    set_test.go:43: ran \"carried, 4 bytes\" in 9ms'\necho '    set_test.go:43: ran \"a group\" in 1m2s'\necho '--- PASS: TestSet (16.60s)'\n", "3 of the set of 3"},
		{"echo '--- PASS: TestSet (16.60s)'\n", `1 of the set of 3, without "carried, 4 bytes", "a group"`},
		{"trap '' INT\nsleep 60 & wait\nsleep 60\n", `1 of the set of 3, without "carried, 4 bytes", "a group" stopped after 5s`},
	} {
		root := fake(t, map[string]string{"columnar": begins + c.ends})
		g := &gpu{ends: time.Now().Add(time.Minute)}
		if o := g.tests("columnar", limit, "-test.run", raced)[0].run(root); o.note != c.note {
			t.Errorf("%q in place of %q", o.note, c.note)
		}
	}
}

func TestProgramsRunTogether(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{}
	for _, name := range kernelPrograms { // each waits until all have started
		scripts[name] = fmt.Sprintf("touch \"$0.begun\"\nuntil [ $(ls \"${0%%/*}\" | grep -c begun) = %d ]; do sleep 0.1; done\n", len(kernelPrograms)) +
			"echo '--- PASS: TestA (0.00s)'\n"
	}
	scripts["rowid"] += "echo '--- FAIL: TestB (0.00s)'\nexit 1\n"
	root := fake(t, scripts)
	g := &gpu{ends: time.Now().Add(time.Minute)}
	for _, s := range g.together("short", kernelPrograms, time.Minute, nil) {
		o := s.run(root)
		if wrong := s.name == "short rowid"; o.passed != 1 || (o.failed == 1) != wrong || strings.Contains(o.output, "TestB") != wrong || o.took <= 0 {
			t.Errorf("%s: %+v", s.name, o)
		}
	}
}

// Tests that steps name exist.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	for pattern, dir := range map[string]string{memchecked: ".", dividedMemchecked: "outofcore", large: "rowid"} {
		files, err := filepath.Glob(filepath.Join("../../../joincore/cuda", dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		names := strings.TrimSuffix(strings.TrimPrefix(pattern, "^Test("), ")$")
		for name := range strings.SplitSeq(names, "|") {
			if !strings.Contains(all.String(), "\nfunc Test"+name+"(t *testing.T)") {
				t.Errorf("there is no Test%s in %s", name, dir)
			}
		}
	}
}

// Large tests get more time on a larger device; without an overall limit each
// step has its own.
func TestLimitOfLargeTests(t *testing.T) {
	t.Parallel()
	for memory, want := range map[string]time.Duration{
		"81559\n": 2*time.Minute + 79*3*time.Second, "143771\n143771\n": 2*time.Minute + 140*3*time.Second, "no such program": 2 * time.Minute,
	} {
		if got := largeLimit(memory); got != want {
			t.Errorf("%q: %v, not %v", memory, got, want)
		}
	}
	if got := (&gpu{}).left(time.Hour); got != time.Hour {
		t.Errorf("without an overall limit: %v", got)
	}
	if got := (&gpu{ends: time.Now().Add(time.Minute)}).left(time.Hour); got > time.Minute {
		t.Errorf("beyond the overall limit: %v", got)
	}
}
