// Package faults runs the tests that cause faults, one point after the other, and counts
// what they find: make faults.
package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// suite is a package below tests and those of its tests that announce points.
type suite struct {
	dir   string
	tests []string
}

var suites = []suite{
	{"./fault", []string{
		"TestKillSerial", "TestCutSerial", "TestKillParallel", "TestKillUnderForcedGather", "TestKillBetweenPlanAndExecution",
		"TestKillBlock", "TestBlockLosesAParticipant", "TestKillWhileKept", "TestEndWhileWaitingForKept",
		"TestKillWhileFiltering", "TestEndWhileWaitingForAFilter",
		"TestKillUnderCursor", "TestKillInSubtransaction", "TestKillUnderRescan", "TestKillWithLongValues",
		"TestStop", "TestStoppedBeforeConnect", "TestStoppedBeforeRows", "TestStoppedInQueue", "TestStoppedAfterRows",
		"TestShortStopAfterRows", "TestStoppedAtServerShutdown",
		"TestTerminateWorker", "TestStoppedBackend", "TestSignalStorm", "TestServerCrash", "TestServerRestarts",
		"TestGracefulStopUnderLoad", "TestMoreThanTheBudget", "TestOutgrowingTheBudget", "TestIdleCursorsOfOneRole",
		"TestSlowClientsMoveToDisk", "TestSpoolLimit", "TestKilledWithResultsOnDisk",
		"TestNoDescriptorsLeft", "TestPartialGrants", "TestDeafPeer", "TestBackendWithoutDescriptors", "TestDaemonWithLimits",
		"TestFullDirectory", "TestMemoryLimitOfGroup", "TestSocketPaths", "TestStatusFiles", "TestDaemonOfAnotherUser",
		"TestWorker", "TestWorkerHangs", "TestWorkerEndsWithDaemon", "TestSeveralDevices", "TestHostileFrames", "TestHostileWelcome",
	}},
	{"./foreign", []string{"TestOutages"}},
	{"./source", []string{"TestFaults", "TestAlterations", "TestRetainedWAL"}},
}

// leastPoints is how many points a whole run must have.
const leastPoints = 100

// Run runs all points and writes build/faults.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	only := flags.String("run", "", "run the tests of this name alone")
	timeout := flags.Duration("timeout", 40*time.Minute, "how long the points of one package may take together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	env, err := harness.Prepare() // once, so that the points' times do not include it
	if err != nil {
		return err
	}
	r := newReport(env.Prefix.Version, func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
	for _, s := range suites {
		tests := s.tests
		if *only != "" {
			if !contains(tests, *only) {
				continue
			}
			tests = []string{*only}
		}
		r.say("tests/%s", strings.TrimPrefix(s.dir, "./"))
		if err := s.run(ctx, env.Root, tests, *timeout, r); err != nil {
			return err
		}
	}
	r.finish()
	if err := measure.WriteJSON(filepath.Join(env.Root, "build", "faults.json"), r); err != nil {
		return err
	}
	table, err := r.table()
	if err != nil {
		return err
	}
	r.say("\n%s\n%s\n%s", measure.Circumstances(env.Root), table, r.summary())
	switch {
	case r.bad():
		return errors.New("something is wrong; build/faults.json has it all")
	case *only == "" && r.Points < leastPoints:
		return fmt.Errorf("%d points, and not at least %d", r.Points, leastPoints)
	}
	return nil
}

func contains(list []string, name string) bool {
	for _, n := range list {
		if n == name {
			return true
		}
	}
	return false
}

// run runs tests and has the report read what they say. Only what prevents that is an error.
func (s suite) run(ctx context.Context, root string, tests []string, timeout time.Duration, r *report) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-timeout", timeout.String(), "-run", "^("+strings.Join(tests, "|")+")$", s.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test stops its program
	cmd.WaitDelay = 20 * time.Second
	cmd.Dir = filepath.Join(root, "tests")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := r.read(stdout)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !r.bad() {
		read = errors.Join(read, fmt.Errorf("go test: %w\n%s", err, stderr.String()))
	}
	return read
}

// read reads the output of go test -json.
func (r *report) read(out io.Reader) error {
	for d := json.NewDecoder(out); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("output of go test: %w", err)
		}
		r.add(&e)
	}
}
