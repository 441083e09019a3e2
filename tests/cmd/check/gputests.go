package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// built is the directory of test programs that make cuda builds, by package name.
	built = "build/cuda/out/test"
	// plugin is the worker that make cuda builds.
	plugin = "build/cuda/out/bin/gpujoin-cuda"
	// logs is the directory for each program's complete output.
	logs = "build/gpu-logs"
)

// packageDir is the directory of a test program's package: tests read files
// relative to it.
func packageDir(root, name string) string {
	provider := filepath.Join(root, "joincore", "cuda")
	switch name {
	case "cuda":
		return provider
	case "phj", "selector":
		return filepath.Join(provider, "columnar", name)
	case "worker":
		return filepath.Join(root, "sidecar", "worker")
	}
	return filepath.Join(provider, name)
}

// runTests runs a test program with flags, under another program if `before` is
// not empty, and counts its tests.
func (g *gpu) runTests(root, log, name string, before, flags []string, limit time.Duration) outcome {
	dir := packageDir(root, name)
	if _, err := os.Stat(dir); err != nil {
		return one(false, err.Error())
	}
	program := filepath.Join(root, built, name+".test")
	if _, err := os.Stat(program); err != nil {
		return one(false, err.Error()+"; run make cuda where there is a CUDA toolkit")
	}
	if before != nil {
		if _, err := exec.LookPath(before[0]); err != nil {
			// compute-sanitizer comes with a toolkit, not with the driver.
			return outcome{note: "left out: no " + before[0] + " in PATH"}
		}
	}
	limit = g.left(limit)
	r := start(root, dir, log, limit, slices.Concat(before, []string{program, "-test.v", "-test.timeout", limit.String()}, flags)...)
	o := countTests(r.output)
	if r.err != nil && o.failed == 0 {
		o.failed++
	}
	if o.passed+o.failed == 0 {
		o.failed = 1
		r.output += "no tests were run\n"
	}
	if o.failed > 0 {
		o.output = r.shown()
	}
	if o.note = r.note; slices.Contains(flags, raced) {
		o.note = strings.TrimSpace(setRun(r.output) + " " + r.note)
	}
	o.took = r.took
	return o
}

var (
	setLine = regexp.MustCompile(`(?m)^\s+\S+: set \[(.*)\], seed `)
	ranLine = regexp.MustCompile(`(?m)^\s+\S+: ran ("[^"]*") in `)
	quoted  = regexp.MustCompile(`"[^"]*"`)
)

// setRun returns how many tests of a set ran, and which did not. A set logs all
// names first, and each again after its test.
func setRun(output string) string {
	m := setLine.FindStringSubmatch(output)
	if m == nil {
		return ""
	}
	names := quoted.FindAllString(m[1], -1)
	all := len(names)
	for _, ran := range ranLine.FindAllStringSubmatch(output, -1) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == ran[1] })
	}
	note := fmt.Sprintf("%d of the set of %d", all-len(names), all)
	if len(names) > 0 {
		note += ", without " + strings.Join(names, ", ")
	}
	return note
}

var testLine = regexp.MustCompile(`(?m)^--- (PASS|FAIL): `)

// countTests counts tests without subtests in a test program's output.
func countTests(output string) outcome {
	var o outcome
	for _, m := range testLine.FindAllStringSubmatch(output, -1) {
		if m[1] == "PASS" {
			o.passed++
		} else {
			o.failed++
		}
	}
	return o
}

// run is a program that has ended.
type run struct {
	log    string // relative to the root
	output string
	took   time.Duration
	err    error
	note   string
}

// left returns a step's limit, or the time left for all steps if that is less.
func (g *gpu) left(limit time.Duration) time.Duration {
	if g.ends.IsZero() {
		return limit
	}
	return max(min(limit, time.Until(g.ends).Round(time.Second)), 0)
}

// start runs a program and also writes its output to a log. At its limit a test program
// reports the running test and ends. If it does not, it is interrupted, and soon after
// that killed with its children.
func start(root, dir, log string, limit time.Duration, args ...string) *run {
	r := &run{log: filepath.Join(logs, log+".log")}
	if limit == 0 {
		r.note, r.err = "no time was left", context.DeadlineExceeded
		return r
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+2*time.Second)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	// The worker's test also runs this worker on the device.
	cmd.Env = append(os.Environ(), "GPUJOIN_WORKER="+filepath.Join(root, plugin))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	begin := time.Now()
	r.err = cmd.Run()
	r.took, r.output = time.Since(begin), out.String()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if r.took >= limit {
		r.note = fmt.Sprintf("stopped after %v", limit)
	}
	path := filepath.Join(root, r.log)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, out.Bytes(), 0o644)); err != nil {
		r.output += err.Error()
	}
	return r
}

// shownLines is the number of output lines shown of a failed program; the log has all.
const shownLines = 40

// shown returns the output without passed tests, truncated.
func (r *run) shown() string {
	var lines []string
	for line := range strings.Lines(r.output) {
		text := strings.TrimSpace(line)
		if text != "" && !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- PASS") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	if more := len(lines) - shownLines; more > 0 {
		lines = append(lines[:shownLines], fmt.Sprintf("... %d more lines in %s", more, r.log))
	}
	if r.err != nil {
		lines = append(lines, r.err.Error())
	}
	return strings.Join(lines, "\n")
}
