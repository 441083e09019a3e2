package bytes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const printed = `==PROF== Connected to process 442 (/build/cuda/out/bin/gpu)
==PROF== Profiling "gj_histogram_k1" - 0: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 442
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","dram__bytes_write.sum"
"","","","","","","","","","","","Gbyte","Kbyte"
"0","442","gpu","127.0.0.1","gj_histogram_k1","1","13","(1024, 1, 1)","(132, 1, 1)","0","9.0","1.610935","2,143.25"
"1","442","gpu","127.0.0.1","gj_offsets","1","13","(1024, 1, 1)","(26, 1, 1)","0","9.0","0.000004","0"
"2","442","gpu","127.0.0.1","gj_histogram_k1","1","13","(1024, 1, 1)","(132, 1, 1)","0","9.0","1.5","1,000"
"3","442","gpu","127.0.0.1","gj_offsets","1","13","(1024, 1, 1)","(26, 1, 1)","0","9.0","0","500"
`

func TestParse(t *testing.T) {
	got, err := parse(strings.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	want := []kernel{
		{"gj_histogram_k1", 1_610_935_000, 2_143_250}, {"gj_offsets", 4000, 0},
		{"gj_histogram_k1", 1_500_000_000, 1_000_000}, {"gj_offsets", 0, 500_000},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, change := range map[string]*strings.Replacer{
		"another unit":   strings.NewReplacer("Gbyte", "sector"),
		"no number":      strings.NewReplacer("1.610935", "n/a"),
		"not a number":   strings.NewReplacer("1.610935", "nan"),
		"no such metric": strings.NewReplacer("dram__bytes_read.sum", "dram__sectors_read.sum"),
		"a short line":   strings.NewReplacer(`,"2,143.25"`, ""),
		"no kernels":     strings.NewReplacer(`"0",`, "==", `"1",`, "==", `"2",`, "==", `"3",`, "=="),
	} {
		text := change.Replace(printed)
		if text == printed {
			t.Fatalf("%s: nothing was changed", name)
		}
		if k, err := parse(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", name, k)
		}
	}
}

// Only the last run's kernels count, and none of them may be missing.
func TestCount(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "printed")
	script := `#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    --log-file) cp ` + table + ` "$2" ;;
    -cases) case=$2 ;;
    -algorithms) algorithm=$2 ;;
    -json) json=$2 ;;
    esac
    shift
done
launches=2
[ "$algorithm" != lost ] || launches=3
echo '[{"case": "'$case'", "algorithm": "'$algorithm'", "launches": '$launches', "bytes": 1000000000}]' >"$json"
`
	p := profiler{ncu: filepath.Join(dir, "ncu"), program: "gpu"}
	if err := os.WriteFile(p.ncu, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, []byte(printed), 0o644); err != nil {
		t.Fatal(err)
	}
	j, err := p.count(t.Context(), "4B", "phj-om")
	if err != nil {
		t.Fatal(err)
	}
	if j.Case != "4B" || j.Algorithm != "phj-om" || j.Read != 1_500_000_000 || j.Written != 1_500_000 || j.Ratio != 1.5015 {
		t.Errorf("%+v", j)
	}
	if _, err := p.count(t.Context(), "4B", "lost"); err == nil || !strings.Contains(err.Error(), "ncu saw 4 kernels in place of 2 times 3") {
		t.Errorf("kernels were lost: %v", err)
	}
	p.ncu = filepath.Join(dir, "none")
	if _, err := p.count(t.Context(), "4B", "phj-om"); err == nil {
		t.Error("there is no ncu")
	}
}
