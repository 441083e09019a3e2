package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

const deadcode = "build/bin/deadcode-v0.40.0"

// unreached has the functions that no main reaches and that are kept, each with its
// reason: a package's directory with a slash at the end, or a file and a function.
var unreached = map[string]string{
	"shm/chain.go:ChainExtentName":                        "names an extent of a chain as the extension does, for testsupport/backend and tests",
	"shm/report.go":                                       "decodes what the daemon writes for the extension, so that tests can compare the two",
	"shm/memfd.go:MapMemfd":                               "maps an extent as the extension does, for tests and for testsupport/backend",
	"shm/filter.go:FilterView.Test":                       "tests keys as the extension does, for tests of both",
	"shm/frame.go:BodySize":                               "lets tests cut every message short",
	"shm/bodies.go:IsText":                                "says which texts the extension accepts, for tests",
	"joincore/cuda/columnar/smj.go:SMJColumns":            "bench-gpu times every algorithm of the paper",
	"joincore/cuda/columnar/selector/selector.go:Predict": "bench-gpu compares predicted times with measured ones",
	"joincore/cuda/columnar/job.go:Bytes":                 "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/arrival.go":               "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/hotkeys.go":               "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/sharehot.go":              "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/sender.go":                "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/share.go":                 "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/sharecount.go":            "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/sharefilter.go":           "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/sharepass.go":             "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/shape.go:SendsColumns":    "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/columnar/phj/shareblocks.go":           "part of joins over several GPUs, which bench-multi runs",
	"joincore/cuda/rowid/destination.go:Lanes":            "part of the partition step that joins over several GPUs use",
	"joincore/device/device.go:NewRowIDs":                 "row ids with a device, which joins over several GPUs use",
	"joincore/exchange/":                                  "policies and baselines of exchanges, which bench-multi and the simulator run",
	"joincore/multi/provider.go:New":                      "the provider that exchanges rows, which tests run on simulated and on real devices",
}

var deadLine = regexp.MustCompile(`^(\S+?):\d+:\d+: unreachable func: (\S+)$`)

// noDeadCode finds functions that no main reaches, in packages that some main
// imports. The tag cuda is set: it only adds mains and packages.
func noDeadCode(root string) outcome {
	out, ok := command(root, "tools/with-cuda.sh", filepath.Join(root, deadcode), "-tags", "cuda", "./cmd/...")
	if !ok {
		return one(false, out)
	}
	wrong := judgeDead(out, unreached)
	return one(wrong == "", wrong)
}

// judgeDead returns the problems in deadcode's output: functions without an exemption,
// lines of unknown form, and unused exemptions.
func judgeDead(out string, exempt map[string]string) string {
	var wrong strings.Builder
	used := map[string]bool{}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		m := deadLine.FindStringSubmatch(line)
		if m == nil {
			fmt.Fprintf(&wrong, "deadcode said: %s\n", line)
			continue
		}
		file, function := m[1], m[2]
		found := false
		for _, name := range []string{file + ":" + function, file, filepath.Dir(file) + "/"} {
			if exempt[name] != "" {
				used[name], found = true, true
			}
		}
		if !found {
			fmt.Fprintf(&wrong, "%s: no main reaches %s: remove it, or exempt it in tests/cmd/check/deadcode.go with a reason\n", file, function)
		}
	}
	for name := range exempt {
		if !used[name] {
			fmt.Fprintf(&wrong, "tests/cmd/check/deadcode.go exempts %s, which is reached or gone\n", name)
		}
	}
	return wrong.String()
}
