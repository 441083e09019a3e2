package gje

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// square returns a case with two payload columns per side.
func square(name string, build, probe int64) Case {
	return Case{Name: name, Build: build, Probe: probe, Key: 4, BuildWidths: []int{4, 4}, ProbeWidths: []int{4, 4}, Distinct: build, Domain: build}
}

func TestArguments(t *testing.T) {
	uniform := square("", 1<<27, 1<<28)
	uniform.Domain *= 16
	zipf := square("", 1<<28, 1<<28)
	zipf.Zipf, zipf.Key = 1.5, 8
	zipf.BuildWidths, zipf.ProbeWidths = []int{8}, []int{8, 8, 8}
	for _, c := range []struct {
		Case
		executable, want string
	}{
		{uniform, "join_exp_4b4b", "-r 134217728 -s 268435456 -m 2 -n 2 -t pkfk -d uniform -e 16 -i shj -p 9 -q 6 -f /data/ -o /data/times.csv"},
		{zipf, "join_exp_8b8b", "-r 268435456 -s 268435456 -m 1 -n 3 -t pkfk -d zipf -z 1.5 -e 1 -i shj -p 9 -q 7 -f /data/ -o /data/times.csv"},
	} {
		if err := c.check(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(c.arguments("shj", "/data"), " "); got != c.want || c.program() != c.executable {
			t.Errorf("%s %s\nwant %s %s", c.program(), got, c.executable, c.want)
		}
	}
}

func TestWithoutPeer(t *testing.T) {
	for name, change := range map[string]func(*Case){
		"rows":         func(c *Case) { c.Probe = 1<<30 + 1 },
		"no payload":   func(c *Case) { c.BuildWidths = nil },
		"columns":      func(c *Case) { c.BuildWidths = []int{4, 4, 4} },
		"many columns": func(c *Case) { c.BuildWidths = []int{4}; c.ProbeWidths = []int{4, 4, 4, 4, 4, 4, 4} },
		"mixed widths": func(c *Case) { c.BuildWidths[1] = 8 },
		"narrow":       func(c *Case) { c.Key = 8 },
		"duplicates":   func(c *Case) { c.Distinct /= 2 },
		"match 2/3":    func(c *Case) { c.Domain += c.Domain / 2 },
		"few matches":  func(c *Case) { c.Domain *= c.Build },
		"zipf, match":  func(c *Case) { c.Domain *= 2; c.Zipf = 1 },
	} {
		c := square(name, 1<<20, 1<<21)
		change(&c)
		if c.check() == nil {
			t.Errorf("%s: has a peer", name)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct{ build, probe, oneIn, want int64 }{
		{1 << 20, 1 << 21, 1, 1 << 21},
		{1 << 20, 1 << 21, 16, 1 << 17},
		{10, 25, 4, 2*3 + 2},
		{10, 5, 4, 2},
	} {
		j := square("", c.build, c.probe)
		j.Domain *= c.oneIn
		if got := j.matches(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// Cases of equal sizes share their keys; small keys are not kept.
func TestRoom(t *testing.T) {
	wide := square("", 1<<27, 1<<28)
	wide.Key = 8
	quarter := square("", 1<<27, 1<<28)
	quarter.Domain *= 4
	zipf := square("", 1<<27, 1<<27)
	zipf.Zipf = 1
	got := room([]Case{square("", 1<<27, 1<<28), quarter, zipf, wide, square("", 1<<20, 1<<21)})
	if want := int64(512+1024+512+1024+2048) << 20; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

const printed = `Output Cardinality = 268435456
Results (first 10 items): 

==== Statistics ==== 
Partition: 10.5 ms
Join: 8.25 ms
Materialize: 1.2e+01 ms

Peak memory used: 1 bytes
`

func TestParse(t *testing.T) {
	c := square("", 1<<27, 1<<28)
	if got, err := parse([]byte(printed), &c); err != nil || got != 30.75 {
		t.Errorf("%v ms, %v", got, err)
	}
	for name, output := range map[string]string{
		"nothing":     "",
		"other rows":  strings.Replace(printed, "268435456", "268435455", 1),
		"two phases":  strings.Replace(printed, "Join:", "Joined:", 1),
		"not a time":  strings.Replace(printed, "10.5", "1.0.5", 1),
		"no join yet": "Allocating 1 bytes\n",
	} {
		if got, err := parse([]byte(output), &c); err == nil {
			t.Errorf("%s: %v ms", name, got)
		}
	}
}

// The executables of this test are scripts. One prints like theirs if it finds its
// folders, the file of -f and the file of its previous run.
func TestRun(t *testing.T) {
	directory := t.TempDir()
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(directory, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("join_exp_4b4b", `test "$LD_LIBRARY_PATH" != "${LD_LIBRARY_PATH#`+directory+`}" || exit 1
while [ "$1" != -i ]; do shift; done
while [ "$1" != -f ]; do shift; done
cd "$2"long && cd ../int && echo >>runs
echo "Output Cardinality = 128
Sort: $(wc -l <runs) ms
Merge: 1 ms
Materialize: 1 ms"`)
	script("join_exp_4b8b", "echo 'what():  Initializing memory pool fails.' >&2\necho >&2\nkill -ABRT $$")
	script("join_exp_8b8b", "exec sleep 60")
	aborted, slow := square("aborted", 64, 128), square("slow", 64, 128)
	aborted.BuildWidths, aborted.ProbeWidths = []int{8}, []int{8}
	slow.Key, slow.BuildWidths, slow.ProbeWidths = 8, []int{8}, []int{8}
	many := square("many", 64, 128)
	many.Distinct = 8
	var progress bytes.Buffer
	got, err := Run(context.Background(), directory, time.Minute, []Case{many, aborted, square("right", 64, 128)}, &progress)
	if err != nil {
		t.Fatal(err)
	}
	late, err := Run(context.Background(), directory, 100*time.Millisecond, []Case{slow}, &progress)
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, late...)
	const abort, limit = "signal: aborted: what():  Initializing memory pool fails.", "longer than 100ms"
	want := []Time{{Case: "many", Note: many.check().Error()}}
	for _, c := range []struct {
		name, note string
		ms         float64
	}{{"aborted", abort, 0}, {"right", "", 3}, {"slow", limit, 0}} {
		for i, a := range algorithms {
			w := Time{Case: c.name, Algorithm: a.ours, MS: c.ms, Note: c.note}
			if c.ms > 0 {
				w.MS += float64(i) // because the runs share a folder
			}
			want = append(want, w)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		g, w := got[i], want[i]
		g.Note = strings.ReplaceAll(g.Note, " (core dumped)", "")
		if g != w {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	if lines := strings.Count(progress.String(), "\n"); lines != 3*len(algorithms) {
		t.Errorf("%d lines of progress:\n%s", lines, progress.String())
	}
}

// An interrupted run returns the results so far and removes its folder.
func TestInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	defer func(was string) { memoryFolder = was }(memoryFolder)
	memoryFolder = t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := Run(ctx, t.TempDir(), time.Minute, []Case{square("", 64, 128)}, os.Stderr); err == nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for _, parent := range []string{os.TempDir(), memoryFolder} {
		if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

func TestPrint(t *testing.T) {
	ours := []Ours{{"a", "phj-om", 10, true}, {"a", "phj-om", 8, false}, {"a", "npj", 30, false}, {"b", "phj-um", 0, true}}
	times := []Time{{"a", "phj-om", 20, ""}, {"a", "smj-om", 15, ""}, {"b", "phj-om", 0, "longer than 2m0s"}, {"c", "", 0, "none"}}
	for i, want := range []float64{15, 20, 0, 0} {
		if got := Peer(ours[i], times); got != want {
			t.Errorf("peer of %+v: %v, want %v", ours[i], got, want)
		}
	}
	var text strings.Builder
	if err := Print(&text, ours, times); err != nil {
		t.Fatal(err)
	}
	const want = `
GPU-Joins-Evaluation
case                theirs ms   ours ms  ratio  chosen                    ms  ratio  note
a           phj-om     20.000     8.000   2.50  phj-om                10.000   2.00
a           smj-om     15.000         -      -  phj-om                10.000   1.50
b           phj-om          -         -      -  phj-um                     -      -  longer than 2m0s
c                           -         -      -                             -      -  none
`
	if text.String() != want+Footer+"\n" {
		t.Errorf("%s\nwant%s", text.String(), want)
	}
}
