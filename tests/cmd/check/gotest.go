package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func goTestSteps() []step {
	return []step{
		// -race needs cgo; the daemon itself is built without.
		{"unit", "main module, -race", goTest(".", "1", "-race", "-timeout", "30m", "./...")},
		// A peer that writes during a read is an intended race: that test skips itself
		// above.
		{"unit", "inputs that change, no -race", goTest(".", "0", "-run", "^TestInputChangesWhileItIsRead$", "./joincore/exec", "./joincore/multi")},
		{"unit", "architecture, documentation, tools", goTest("tests", "0", "./arch", "./bench/mirror", "./bench/record", "./bench/report", "./cmd/...", "./differential", "./docs", "./faults", "./gpu/bench/...", "./gpu/bytes", "./harness/...", "./keptcheck", "./measure", "./packaging", "./soak", "./sqllogic", "./suite")},
		{"unit", "simulator of several GPUs", simulator},
		{"unit", "the extension's readers", goTest("tests", "0", "./reader")},
		{"e2e", "end to end", goTest("tests", "0", "-timeout", "25m", "./e2e/...", "./fault/...", "./source", "./foreign", "./scaleout", "./mirrorcheck", "./gpu/e2e")},
	}
}

// simulator runs the most telling rows of make sim.
func simulator(root string) outcome {
	out, ok := command(filepath.Join(root, "tests"), "go", "run", "-buildvcs=false", "./cmd/bench", "sim", "-quick", "-json", os.DevNull)
	return one(ok, out)
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string
}

// goTest runs go test in a module and counts tests without subtests. It
// disables the test cache, because many tests run programs that Go does not
// track.
func goTest(module, cgo string, args ...string) func(string) outcome {
	return func(root string) outcome {
		cmd := exec.Command("go", append([]string{"test", "-json", "-count=1"}, args...)...)
		cmd.Dir = filepath.Join(root, module)
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "GOFLAGS=-buildvcs=false")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return one(false, err.Error())
		}
		if err := cmd.Start(); err != nil {
			return one(false, err.Error())
		}
		o := countEvents(stdout)
		if err := cmd.Wait(); err != nil && o.failed == 0 {
			o.failed++
			o.output += fmt.Sprintf("go test: %v\n%s", err, stderr.String())
		}
		if o.passed+o.failed == 0 {
			o.failed, o.output = 1, "no tests were run"
		}
		return o
	}
}

func countEvents(r io.Reader) outcome {
	var o outcome
	broken := map[string]bool{}             // packages
	output := map[string]*strings.Builder{} // of a test, or a package
	for d := json.NewDecoder(r); ; {
		var e event
		if err := d.Decode(&e); err != nil {
			if !errors.Is(err, io.EOF) {
				o.failed++
				o.output += fmt.Sprintf("output of go test: %v\n", err)
			}
			return o
		}
		top, _, sub := strings.Cut(e.Test, "/")
		key := e.Package + e.ImportPath + " " + top
		switch e.Action {
		case "output", "build-output":
			if output[key] == nil {
				output[key] = &strings.Builder{}
			}
			output[key].WriteString(e.Output)
		case "pass":
			if e.Test != "" && !sub {
				o.passed++
				delete(output, key)
			}
		case "fail", "build-fail":
			if sub {
				continue
			}
			// A package fails after its tests: it counts only if it fails alone.
			if e.Test != "" || !broken[e.Package] {
				o.failed++
			}
			broken[e.Package] = true
			// A failed build is reported as "package [package.test]", then as
			// the package.
			built, _, _ := strings.Cut(e.ImportPath, " ")
			broken[built] = true
			if output[key] != nil {
				o.output += key + "\n" + output[key].String()
			}
		}
	}
}
