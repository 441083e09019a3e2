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
	"shm/chain.go:ChainExtentName":                        "the protocol's other half: the name under which the extension maps an extent of a chain",
	"shm/filter.go:FilterView.Test":                       "the protocol's other half: the extension tests keys by the filter that the daemon writes",
	"shm/kept.go:AppendPages":                             "the protocol's other half: the extension writes the message",
	"shm/kept.go:DecodeKept":                              "the protocol's other half: the extension reads the answer",
	"shm/kept.go:DecodeBlocks":                            "the protocol's other half: the extension reads the answer",
	"shm/kept.go:AppendCaptured":                          "the protocol's other half: the extension writes the message",
	"shm/kept.go:AppendForget":                            "the protocol's other half: the extension writes the message",
	"shm/source.go:AppendSourceGet":                       "the protocol's other half: the extension writes the message",
	"shm/source.go:DecodeSource":                          "the protocol's other half: the extension reads the answer",
	"shm/keptfile.go:DecodeKeptFile":                      "the protocol's other half: the extension reads the file",
	"joincore/cuda/columnar/phj/arrival.go:Ranges.String": "bench-multi prints the ranges of a join",
	"joincore/cuda/columnar/phj/share.go:Way.String":      "bench-multi prints how rows were sent",
	"joincore/cuda/mgj/assign.go:Strategy.String":         "bench-multi prints how rows met",
	"joincore/cuda/columnar/selector/predict.go":          "bench-multi chooses and predicts ways to join columns that lie on GPUs; the daemon asks the same model (costmodel.Team) by Group.Filters and package exec",
	"joincore/cuda/mgj/choose.go":                         "bench-multi chooses and predicts ways to join columns that lie on GPUs; the daemon asks the same model (costmodel.Team) by Group.Filters and package exec",
	"joincore/cuda/mgj/group.go:Choice.Options":           "bench-multi chooses and predicts ways to join columns that lie on GPUs; the daemon asks the same model (costmodel.Team) by Group.Filters and package exec",
	"joincore/cuda/mgj/group.go:Group.Choose":             "bench-multi chooses and predicts ways to join columns that lie on GPUs; the daemon asks the same model (costmodel.Team) by Group.Filters and package exec",
	"joincore/cuda/mgj/group.go:Group.Predict":            "bench-multi chooses and predicts ways to join columns that lie on GPUs; the daemon asks the same model (costmodel.Team) by Group.Filters and package exec",
	"joincore/costmodel/placement.go:MeanRate":            "bench-multi compares measured rates of hybrid tables with the paper's prediction",
	"joincore/costmodel/placement.go:Locality":            "bench-multi predicts how many reads of a table are of a device's own memory",
	"joincore/exchange/conductor.go":                      "a baseline: the central routing that the simulator compares with",
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
