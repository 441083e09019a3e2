package mirror

import "testing"

// The output of Go's benchmarks has the rates of inserts and updates.
func TestPerCore(t *testing.T) {
	out := "BenchmarkApply/insert-2 \t       3\t 400000000 ns/op\t    512345 changes/core-s\nBenchmarkApply/update \t 2\t 1 ns/op\t 3.1e+05 changes/core-s\n"
	m := perCore.FindAllStringSubmatch(out, -1)
	if len(m) != 2 || m[0][1] != "insert" || m[0][2] != "512345" || m[1][1] != "update" || m[1][2] != "3.1e+05" {
		t.Errorf("%q", m)
	}
}
