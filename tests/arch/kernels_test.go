package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// kernelLayers are the directories of device code and what each may include:
// entry points choose tuning for agents, an agent is the work of one kernel,
// block holds what agents share, layout is memory that device and host share.
var kernelLayers = map[string][]string{
	"entry":  {"entry", "agent", "block", "layout", "tuning"},
	"agent":  {"agent", "block", "layout"},
	"block":  {"block", "layout"},
	"layout": {"layout"},
	"tuning": {},
}

var kernelInclude = regexp.MustCompile(`(?m)^#include "([a-z]+)/[a-z_]+\.(?:cuh|h)"$|^#include "(.*)"$`)

func TestKernelsIncludeDownwards(t *testing.T) {
	root, _ := load(t)
	for layer, may := range kernelLayers {
		files, err := filepath.Glob(filepath.Join(root, "joincore/cuda/kernels", layer, "*"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no files, %v", layer, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range kernelInclude.FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(may, m[1]) {
					t.Errorf("%s/%s must not have %s: includes go downwards only", layer, filepath.Base(file), m[0])
				}
			}
		}
	}
}
