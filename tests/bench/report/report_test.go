package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// The documents in the repository are those of its results.
func TestCommitted(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(root); err != nil {
		t.Error(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(page, []byte("\n")); lines > 100 {
		t.Errorf("benchmarks.md has %d lines, more than two screens", lines)
	}
}

// result is a query by an engine, with the parts of its time.
func result(name, engine string, ms float64, input float64) measure.Result {
	r := measure.Result{Name: name, Engine: engine, Ms: []float64{ms}, Values: map[string]float64{}}
	if input > 0 {
		r.Values["input_rows"] = input
	} else if engine != measure.Postgres && engine != measure.DuckDB {
		r.Values["explain_ms"], r.Values["feed_ms"], r.Values["join_ms"], r.Values["return_ms"] = ms, ms/2, ms/4, ms/8
	}
	return r
}

// document is one of a suite with these results.
func document(suite, machine string, day int, results ...measure.Result) *measure.Document {
	load := 0.1
	return &measure.Document{
		Schema: measure.Schema, Suite: suite, Commit: "0123abc", Complete: true, Date: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC),
		Machine:    measure.Machine{ID: machine, CPU: "A", Cores: 2, GPUs: []string{}, Kernel: "6.1", Load1Before: &load},
		Software:   map[string]string{measure.Postgres: "15.20"},
		Settings:   map[string]string{"jit": "off"},
		Parameters: map[string]any{"sf": 1.0},
		Results:    results,
	}
}

// repository writes a repository with results, and a README.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	plans := document("bench-join", "a-2c", 7)
	delete(plans.Parameters, "sf") // its tables have one size
	for name, us := range map[string]float64{"plan-rejected": -6, "plan-rejected-type": 8.4, "plan-rejected-cost": 3, "plan-10way": 50.4, "plan-star8": 120} {
		plans.Results = append(plans.Results, measure.Result{Name: name, Engine: measure.Gpujoin, Values: map[string]float64{"us": us}})
	}
	for _, d := range []*measure.Document{
		plans,
		document("tpch", "a-2c", 1, result("q1", measure.Postgres, 800, 0), result("q1", measure.Gpujoin, 200, 0), result("q1", measure.DuckDB, 100, 0),
			result("q2", measure.Postgres, 90, 0), result("q2", measure.Gpujoin, 10, 0), result("q1", measure.PgScanner, 400, 0)),
		document("tpch-kept", "a-2c", 2, result("q1", measure.Postgres, 800, 0), result("q1", measure.Gpujoin, 20, 0)),
		document("tpch-kept", "b-2c", 3, result("q1", measure.Postgres, 800, 0), result("q1", measure.Gpujoin, 10, 0), result("q1", measure.DuckDB, 40, 0)),
		document("tpcds-kept", "a-2c", 5, result("q1", measure.Postgres, 90, 0), result("q1", measure.Gpujoin, 30, 0), result("q1", measure.DuckDB, 10, 0),
			result("q2", measure.Postgres, 40, 0), result("q2", measure.Gpujoin, 40, 0), result("q2", measure.DuckDB, 80, 0),
			result("q3", measure.Postgres, 50, 0), result("q3", measure.Gpujoin, 71, 0)),
		document("gpu-e2e-kept", "c-8c-x", 6, result("1", measure.Cores, 50, 1e5), result("1", measure.GPU, 25, 1e5)),
		document("gpu-e2e", "c-8c-x", 4, result("1", measure.Postgres, 100, 1e5), result("1", measure.Cores, 10, 1e5), result("1", measure.GPU, 20, 1e5),
			result("2", measure.Postgres, 1000, 1e7), result("2", measure.Cores, 200, 1e7), result("2", measure.GPU, 100, 1e7), result("TPC-H 3", measure.Cores, 20, 0), result("TPC-H 3", measure.GPU, 30, 0)),
	} {
		if err := d.Write(filepath.Join(root, "bench", "results", d.Directory(), d.Machine.ID+".json")); err != nil {
			t.Fatal(err)
		}
	}
	for name, regions := range (page{}).regions() {
		text := "before\n"
		for _, region := range slices.Sorted(maps.Keys(regions)) {
			text += fmt.Sprintf(beginning, region) + "old" + end + "\nbetween\n"
		}
		write(t, filepath.Join(root, name), text+"after\n")
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The same results make the same documents, and what these say is right.
func TestDeterministic(t *testing.T) {
	root := repository(t)
	files, err := Make(root)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := Make(root)
		if err != nil {
			t.Fatal(err)
		}
		for name := range files {
			if !bytes.Equal(files[name], again[name]) {
				t.Fatalf("%s differs", name)
			}
		}
	}
	for name, texts := range map[string][]string{
		// 800/200 and 90/10; 800 by 100 of one query; 800 by 20 on the machine that has both.
		"README.md": {"before\n<!-- results:begin -->\n", "| **gpujoin, tables read for each query** | 6.0 | 0.2 s |", "| **gpujoin, kept columns** | 40.0 |", "A, 2 cores; 2026-11-01; commit 0123abc. More", end + "\nbetween\n",
			// 30/10 and 40/80; 90/30, 40/40 and 50/71.
			"<!-- results:tpcds -->gpujoin took 1.2 times as long as DuckDB, and PostgreSQL 1.3 times as long as gpujoin (geometric means; 2026-11-05, commit 0123abc)" + end,
			"after\n"},
		// 10/40 on the newer machine.
		"docs/faq.md": {"gpujoin took 0.25 of DuckDB's time; over TPC-DS 1.2 times as long (geometric means; 2026-11-03, commit 0123abc and 2026-11-05, commit 0123abc)"},
		"docs/limitations.md": {"Of 3 queries of TPC-DS over kept columns, 1 took longer than natively by more than 5 % and 20 ms (2026-11-05, commit 0123abc)",
			"Planning takes 50 µs longer for a chain of ten tables, 120 µs for a star of eight, and at most 8 µs for queries that stay native (A, 2 cores; 2026-11-07; commit 0123abc)" + end},
		"docs/gpu.md": {"| 2, tables read | 1000.0 ms | 200.0 ms | 100.0 ms |", "over these and 1 queries of TPC-H at scale factor 1, cores took 0.87 times as long as the GPU (geometric mean); 1 of the queries took longer on the GPU. A, 2 cores; 2026-11-04; commit 0123abc.",
			"| 1, columns kept |  | 50.0 ms | 25.0 ms |", "over these and 0 queries of TPC-H at scale factor 1, cores took 2.00 times as long as the GPU"},
		"docs/benchmarks.md":   {"| TPC-H, tables read for each query | a-2c | 0.9 s (2) | 6.00 |", "2.00 (1)", "8.00 (1)", "faster from about 1 M rows on", "tpch-kept-sf1 | A, 2 cores; 2026-11-03"},
		"docs/images/tpch.svg": {"DuckDB, its own copy", "gpujoin, kept columns"},
		"docs/images/rows.svg": {"polyline"}, "docs/images/shares.svg": {"a-2c, tables read", "b-2c, kept columns"},
	} {
		for _, text := range texts {
			if !strings.Contains(string(files[name]), text) {
				t.Errorf("%s does not have %q:\n%s", name, text, files[name])
			}
		}
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".svg") {
			wellFormed(t, name, text)
		}
	}
}

func wellFormed(t *testing.T, name string, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
		t.Errorf("%s has values that are no numbers", name)
	}
}

// A document that differs from the results is named, and so is a plot without results.
func TestCheck(t *testing.T) {
	root := repository(t)
	files, err := Make(root)
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() {
		for name, text := range files {
			write(t, filepath.Join(root, name), string(text))
		}
	}
	fresh()
	if err := Check(root); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		changed := strings.Replace(string(text), end, "x"+end, 1) // what is not in a region is not compared
		if changed == string(text) {
			changed += "x"
		}
		write(t, filepath.Join(root, name), changed)
		if err := Check(root); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s differs: %v", name, err)
		}
		fresh()
	}
	for _, suite := range []string{"gpu-e2e-sf1", "gpu-e2e-kept-sf1"} {
		if err := os.RemoveAll(filepath.Join(root, "bench", "results", suite)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Check(root); err == nil || !strings.Contains(err.Error(), "rows.svg has no results") {
		t.Errorf("a plot without results: %v", err)
	}
}

// Files that are not where their content belongs, or no results, are refused.
func TestReadDistrusts(t *testing.T) {
	for name, change := range map[string]func(root string){
		"another machine's file": func(root string) {
			write(t, filepath.Join(root, "bench/results/tpch-sf1/x.json"), string(must(os.ReadFile(filepath.Join(root, "bench/results/tpch-sf1/a-2c.json")))))
		},
		"text":       func(root string) { write(t, filepath.Join(root, "bench/results/tpch-sf1/x.json"), "hello") },
		"no markers": func(root string) { write(t, filepath.Join(root, "README.md"), "hello") },
		"no results": func(root string) { _ = os.RemoveAll(filepath.Join(root, "bench")) },
	} {
		root := repository(t)
		change(root)
		if _, err := Make(root); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

func TestCrossing(t *testing.T) {
	slow := []point{{1e4, 1}, {1e6, 10}, {1e8, 100}}
	for _, c := range []struct {
		second []point
		rows   float64
		found  bool
	}{
		{[]point{{1e4, 2}, {1e6, 5}, {1e8, 50}}, 1e5, true},
		{[]point{{1e4, .5}, {1e6, 5}, {1e8, 50}}, 0, false},  // always faster
		{[]point{{1e4, 2}, {1e6, 20}, {1e8, 200}}, 0, false}, // never
		{[]point{{1e4, 2}, {1e6, 5}, {1e8, 200}}, 0, false},  // not for good
		{[]point{{1e4, 2}, {1e7, 5}, {1e8, 50}}, 0, false},   // of other joins
	} {
		rows, found := crossing(slow, c.second)
		if found != c.found || found && math.Abs(rows/c.rows-1) > 1e-9 {
			t.Errorf("%v: %v, %v", c.second, rows, found)
		}
	}
}

// All colours can be told from white and from GitHub's dark background, texts at least as well
// as the guidelines for large text ask for.
func TestColours(t *testing.T) {
	for _, colour := range []string{textColour, blue, orange, red, green, violet, grey, teal} {
		for _, background := range []string{"#ffffff", "#0d1117"} {
			a, b := luminance(t, colour)+0.05, luminance(t, background)+0.05
			if contrast := max(a, b) / min(a, b); contrast < 3 {
				t.Errorf("%s on %s: contrast %.2f", colour, background, contrast)
			}
		}
	}
}

// luminance is the relative luminance of WCAG 2.
func luminance(t *testing.T, colour string) (sum float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}
