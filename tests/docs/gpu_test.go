package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/kernels"
)

// What NVIDIA's programming guide says of GPUs: compute capability, and KiB of shared memory
// for a block.
var gpus = []struct {
	name                 string
	major, minor, shared int
}{
	{"A100", 8, 0, 163}, {"A30", 8, 0, 163}, {"H100", 9, 0, 227}, {"H200", 9, 0, 227}, {"GH200", 9, 0, 227},
	{"T4", 7, 5, 64}, {"A10", 8, 6, 99}, {"A40", 8, 6, 99}, {"L4", 8, 9, 99}, {"L40S", 8, 9, 99}, {"RTX", 12, 0, 99},
}

// The README and gpu.md call those GPUs supported that the kernels run on, and name the others.
func TestSupportedGPUs(t *testing.T) {
	readme := regexp.MustCompile(`(?m)^\| GPU \|.* Supported are ([^;]+); not ([^.]+)\.`).FindStringSubmatch(read(t, "README.md"))
	page := regexp.MustCompile(`(?ms)^\| supported \| ([^|]+) \|$.*^\| not supported \| ([^.]+)\.`).FindStringSubmatch(read(t, "docs", "gpu.md"))
	for name, list := range map[string][]string{"README.md": readme, "gpu.md": page} {
		if len(list) != 3 {
			t.Errorf("%s does not list GPUs", name)
			continue
		}
		for _, gpu := range gpus {
			supported := kernels.Fit(gpu.major, gpu.minor, gpu.shared<<10) == nil
			for i, said := range []bool{true, false} {
				words := strings.FieldsFunc(list[i+1], func(r rune) bool { return strings.ContainsRune(" ,;()", r) })
				if named := slices.Contains(words, gpu.name); named != (said == supported) {
					t.Errorf("%s: %s is supported: %v; named in %q: %v", name, gpu.name, supported, list[i+1], named)
				}
			}
		}
	}
}
