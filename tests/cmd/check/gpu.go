package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	programs = flag.String("programs", "", "with -only gpu: what to run of phj, columnar, rowid, selector, driver, links, transferjoin, cuda, outofcore, worker, e2e, large, with commas between; none: all")
	within   = flag.Duration("within", 0, "with -only gpu: what is not done by then is stopped; 0: each step has its own limit alone")
)

// kernelPrograms launch every kernel. Their short tests run natively and under
// compute-sanitizer, which slows kernels down a hundredfold; all their tests run at the
// end.
var kernelPrograms = []string{"phj", "columnar", "rowid"}

// raced is the test that runs under racecheck. racecheck tracks every access to shared
// memory, so a join takes seconds: the test is a small set that uses each family of
// kernels once.
const raced = "^TestSet$"

// large are rowid's tests with very many rows: gigabytes of keys, or a billion
// pairs. They are a separate step.
const large = "^Test(ABillionPairs|HotMarks|RowNumbersBeyond31Bits|Rates)$"

// memchecked are the provider's tests that run under memcheck: registered memory,
// windows, and joins of materialised columns. dividedMemchecked are those of joins out
// of core.
const (
	memchecked        = "^Test(RegisteredMemory|MaterialisedKeys)$"
	dividedMemchecked = "^Test(Division|DividedThroughSlabs)$"
)

// gpuSteps run on a machine with a GPU, from programs built before; neither Go nor a
// compiler is needed. Short and informative steps come first, because a machine may be
// available for a few minutes only.
func gpuSteps() ([]step, error) {
	g := &gpu{}
	if *within > 0 {
		g.ends = time.Now().Add(*within)
	}
	if *programs != "" {
		g.only = strings.Split(*programs, ",")
	}
	for _, name := range g.only {
		if !slices.Contains(kernelPrograms, name) && !slices.Contains([]string{"selector", "driver", "links", "transferjoin", "cuda", "outofcore", "worker", "e2e", "large"}, name) {
			return nil, fmt.Errorf("there is no program %q", name)
		}
	}
	return slices.Concat(
		[]step{{"gpu", "device", findDevice}},
		g.tests("driver", time.Minute),
		g.tests("links", 2*time.Minute),
		g.tests("transferjoin", 3*time.Minute),
		g.together("short", kernelPrograms, 90*time.Second, nil, "-test.short"),
		g.tests("selector", 2*time.Minute, "-test.short"),
		g.tests("cuda", 3*time.Minute),
		g.tests("outofcore", time.Minute),
		g.tests("worker", 90*time.Second, "-test.run", "^TestDevice$"),
		g.bundled(2*time.Minute),
		g.together("memcheck", kernelPrograms, 2*time.Minute, memcheck(), "-test.short"),
		g.together("memcheck", []string{"cuda"}, 90*time.Second, memcheck(), "-test.run", memchecked),
		g.together("memcheck", []string{"outofcore"}, 90*time.Second, memcheck(), "-test.run", dividedMemchecked),
		g.together("racecheck", kernelPrograms, 150*time.Second, sanitizer("racecheck"), "-test.run", raced),
		g.together("all", []string{"phj", "columnar"}, 2*time.Minute, nil),
		g.tests("rowid", 3*time.Minute, "-test.skip", large),
		g.largeTests(), // need most of the memory
	), nil
}

// gpu makes the steps of the selected programs.
type gpu struct {
	only []string
	ends time.Time // zero: no limit
}

func (g *gpu) chosen(name string) bool { return g.only == nil || slices.Contains(g.only, name) }

// tests returns the step that runs a program, if it was selected.
func (g *gpu) tests(name string, limit time.Duration, flags ...string) []step {
	if !g.chosen(name) {
		return nil
	}
	return []step{{"gpu", name, func(root string) outcome {
		return g.runTests(root, name, name, nil, flags, limit)
	}}}
}

// largeTests returns the step of the large tests, if it was selected.
func (g *gpu) largeTests() []step {
	if !g.chosen("large") {
		return nil
	}
	return []step{{"gpu", "large rowid", func(root string) outcome {
		memory, _ := command(root, "nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")
		return g.runTests(root, "large-rowid", "rowid", nil, []string{"-test.run", large}, largeLimit(memory))
	}}}
}

// largeLimit is the time limit of tests that fill a device's memory: the host
// fills and reads a part of it, in the worst case at about 100 MB/s. memory is
// the driver's list in MiB, one line per device; the first device counts.
func largeLimit(memory string) time.Duration {
	first, _, _ := strings.Cut(strings.TrimSpace(memory), "\n")
	mib, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		mib = 0
	}
	return 2*time.Minute + time.Duration(mib/1024)*3*time.Second
}

// together runs programs at the same time: each keeps one core busy, but uses the GPU
// little.
func (g *gpu) together(how string, programs []string, limit time.Duration, before []string, flags ...string) []step {
	var steps []step
	for _, name := range programs {
		if g.chosen(name) {
			steps = append(steps, step{"gpu", how + " " + name, func(root string) outcome {
				return g.runTests(root, how+"-"+name, name, before, flags, limit)
			}})
		}
	}
	return atOnce(steps)
}

// atOnce starts all steps with the first one; each ends when its program does.
func atOnce(steps []step) []step {
	var start sync.Once
	done := make([]chan outcome, len(steps))
	out := slices.Clone(steps)
	for i := range steps {
		done[i] = make(chan outcome, 1)
		out[i].run = func(root string) outcome {
			start.Do(func() {
				for j := range steps {
					go func() { done[j] <- steps[j].run(root) }()
				}
			})
			return <-done[i]
		}
	}
	return out
}

// sanitizer returns the command of one of compute-sanitizer's tools, to precede
// a program.
func sanitizer(tool string, options ...string) []string {
	return append([]string{"compute-sanitizer", "--tool", tool, "--target-processes", "all", "--error-exitcode", "9", "--print-limit", "10"}, options...)
}

// memcheck ignores the results of driver calls, because some tests provoke errors.
func memcheck() []string { return sanitizer("memcheck", "--report-api-errors", "no") }

// findDevice runs the driver's own program, so that a machine without a GPU
// gets one clear message.
func findDevice(root string) outcome {
	out, ok := command(root, "nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
	if !ok {
		return one(false, "no NVIDIA GPU: "+out)
	}
	return outcome{passed: 1, note: strings.ReplaceAll(strings.TrimSpace(out), "\n", "; ")}
}

// bundled runs the bundle's program on small tables, if it is present.
func (g *gpu) bundled(limit time.Duration) []step {
	if !g.chosen("e2e") {
		return nil
	}
	return []step{{"gpu", "end to end, faults", func(root string) outcome {
		program := filepath.Join(root, "build", "gpu-bundle", "gpu-e2e")
		if _, err := os.Stat(program); err != nil {
			return outcome{note: "left out: no build/gpu-bundle, see make gpu-bundle"}
		}
		r := start(root, root, "e2e", g.left(limit), program,
			"-sf", "0.1", "-rows", "2000000", "-runs", "1", "-out", filepath.Join(root, "build", "gpu-e2e-small.json"))
		o := one(r.err == nil && !strings.Contains(r.output, "cuda did not run"), r.shown())
		o.note, o.took = r.note, r.took
		return o
	}}}
}

// multiSteps test what joins over several GPUs are made of, on a machine with GPUs and
// from programs built before. With one GPU, several simulated ones share it.
func multiSteps() []step {
	g := &gpu{}
	if *within > 0 {
		g.ends = time.Now().Add(*within)
	}
	steps := slices.Concat(
		[]step{{"gpu", "device", findDevice}},
		g.tests("driver", time.Minute, "-test.run", "Peer|Devices?$"),
		g.tests("links", 2*time.Minute),
		g.tests("transferjoin", 3*time.Minute),
		g.tests("fabric", 5*time.Minute),
		g.tests("mgj", 7*time.Minute),
	)
	for i := range steps {
		steps[i].group = "multi"
	}
	return steps
}
