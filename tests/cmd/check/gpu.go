package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// built is where make cuda leaves test programs, by their packages' names.
const built = "build/cuda/out/test"

// plugin is the worker that make cuda builds.
const plugin = "build/cuda/out/bin/gpujoin-cuda"

// sanitized are the programs whose small set runs under compute-sanitizer:
// they launch every kernel. It slows kernels down a hundredfold.
var sanitized = []string{"op", "phj", "smj", "npj"}

// gpuSteps run on a machine with a GPU, from programs that were built before:
// there need be neither Go nor a compiler.
func gpuSteps(root string) []step {
	steps := []step{{"gpu", "device", findDevice}}
	programs, err := filepath.Glob(filepath.Join(root, built, "*.test"))
	if err != nil || len(programs) == 0 {
		return append(steps, step{"gpu", "tests", func(string) outcome {
			return one(false, "no test programs in "+built+"; run make cuda where there is a CUDA toolkit")
		}})
	}
	for _, p := range programs {
		name := strings.TrimSuffix(filepath.Base(p), ".test")
		steps = append(steps, step{"gpu", name, testProgram(name)})
	}
	steps = append(steps, step{"gpu", "end to end, faults", bundled})
	for _, tool := range []string{"memcheck", "racecheck"} {
		for _, p := range programs {
			name := strings.TrimSuffix(filepath.Base(p), ".test")
			if slices.Contains(sanitized, name) {
				steps = append(steps, step{"gpu", tool + ", " + name, sanitize(tool, name)})
			}
		}
	}
	return steps
}

// findDevice asks the driver's own program, so that a machine without a GPU
// gets one clear line.
func findDevice(root string) outcome {
	out, ok := command(root, "nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
	if !ok {
		return one(false, "no NVIDIA GPU: "+out)
	}
	return outcome{passed: 1, note: strings.ReplaceAll(strings.TrimSpace(out), "\n", "; ")}
}

// bundled runs the bundle's program on small tables, where it was brought along.
func bundled(root string) outcome {
	dir := filepath.Join(root, "build", "gpu-bundle")
	program := filepath.Join(dir, "gpu-e2e")
	if _, err := os.Stat(program); err != nil {
		return outcome{note: "left out: no build/gpu-bundle, see make gpu-bundle"}
	}
	out, ok := command(root, program, "-sf", "0.1", "-rows", "2000000", "-runs", "1", "-out", filepath.Join(root, "build", "gpu-e2e-small.json"))
	if ok && strings.Contains(out, "cuda did not run") {
		ok = false
	}
	return one(ok, out)
}

// packageDir is the directory of a test program's package: tests read their
// files relative to it.
func packageDir(root, name string) (string, error) {
	room := filepath.Join(root, "joincore", "cuda")
	switch name {
	case "cuda":
		return room, nil
	case "worker":
		return filepath.Join(root, "sidecar", "backend", "remote"), nil
	}
	dir := filepath.Join(room, name)
	_, err := os.Stat(dir)
	return dir, err
}

// testProgram runs all tests of a program and counts them.
func testProgram(name string) func(string) outcome {
	return func(root string) outcome { return runTests(root, name, nil, nil) }
}

// limit is the longest that a test program may take.
const limit = 10 * time.Minute

// runTests runs a test program with flags, behind another program if before
// is one with its arguments.
func runTests(root, name string, before, flags []string) outcome {
	dir, err := packageDir(root, name)
	if err != nil {
		return one(false, err.Error())
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := slices.Concat(before, []string{filepath.Join(root, built, name+".test"), "-test.v", "-test.timeout", limit.String()}, flags)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	// That of the worker tries this one on the device, too.
	cmd.Env = append(os.Environ(), "GPUJOIN_WORKER="+filepath.Join(root, plugin))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	o := countTests(out.String())
	if err != nil && o.failed == 0 {
		o.failed++
	}
	if o.passed+o.failed == 0 {
		o.failed = 1
		o.output = "no tests were run\n"
	}
	if o.failed > 0 {
		o.output += out.String()
		if err != nil {
			o.output += err.Error()
		}
	}
	return o
}

var testLine = regexp.MustCompile(`(?m)^--- (PASS|FAIL): `)

// countTests counts tests, not their subtests, in a test program's output.
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

// sanitize runs a program's short tests under one of compute-sanitizer's tools.
func sanitize(tool, name string) func(string) outcome {
	return func(root string) outcome {
		program, err := exec.LookPath("compute-sanitizer")
		if err != nil {
			// It comes with a toolkit, not with the driver.
			return outcome{note: "left out: no compute-sanitizer in PATH"}
		}
		before := []string{program, "--tool", tool, "--target-processes", "all", "--error-exitcode", "9", "--print-limit", "10"}
		return runTests(root, name, before, []string{"-test.short"})
	}
}
