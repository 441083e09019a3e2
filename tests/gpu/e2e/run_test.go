package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

func TestJudge(t *testing.T) {
	lost := &pgconn.PgError{Code: "08006"}
	for _, c := range []struct {
		name string
		at   moment
		answer
		right bool
	}{
		{"cores took over", running, answer{provider: "cpu", fallback: "cuda: it has ended"}, true},
		{"the GPU went on", running, answer{provider: "cuda"}, false},
		{"nobody says why", running, answer{provider: "cpu"}, false},
		{"PostgreSQL took over", running, answer{provider: "PostgreSQL itself", fallback: "it has ended"}, false},
		{"a new worker", feeding, answer{provider: "cuda"}, true},
		{"other rows", feeding, answer{provider: "cuda", difference: "2 rows instead of 1"}, false},
		{"other rows at the end", streaming, answer{provider: "cuda", difference: "2 rows instead of 1"}, false},
		{"lost before rows", running, answer{err: lost}, false},
		{"lost after rows", streaming, answer{err: lost}, true},
		{"another error", streaming, answer{err: &pgconn.PgError{Code: "XX000"}}, false},
	} {
		note, err := c.at.judge(c.answer)
		if (err == nil) != c.right || (note != "") != c.right {
			t.Errorf("%s: %q, %v", c.name, note, err)
		}
	}
}

// Joins and faults with the cpu provider's worker in place of the GPU's: all
// rows are equal, and each fault ends as it should.
func TestWithoutGPU(t *testing.T) {
	env, err := harness.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	worker, err := env.BuildWorker()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", filepath.Dir(worker))
	t.Setenv("CUDA_VISIBLE_DEVICES", "0,1")
	out := filepath.Join(t.TempDir(), "results.json")
	err = run(t.Context(), options{plugin: worker, out: out, rows: 300_000, runs: 1, workers: 2, devices: 2, strategy: "replicate", parts: "joins,faults"})
	if err != nil {
		t.Error(err)
	}
	document, err := measure.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	queries, joins := 0, 0
	for _, r := range document.Results {
		switch {
		case r.Engine == measure.GPU && len(r.Ms) > 0:
			if queries++; r.Values["joins"] != 1 || r.Texts["providers"] != "cuda" {
				t.Errorf("%s: %v joins on %q", r.Name, r.Values["joins"], r.Texts["providers"])
			}
		case r.Engine == measure.GPUs:
			if r.Values["devices"] != 2 || !*r.Equal || r.Texts["reason"] != "" {
				t.Errorf("%s on several devices: %+v", r.Name, r)
			}
		case strings.HasPrefix(r.Name, "phases "):
			if joins++; r.Texts["algorithm"] == "" || r.Values["join_ms"] <= 0 || len(r.Values) < 3 {
				t.Errorf("%+v", r)
			}
		}
	}
	if queries != 4 || joins != 12 { // of four joins in three modes
		t.Errorf("%d queries, phases of %d joins", queries, joins)
	}
	if !document.Complete || document.Suite != "gpu-e2e" {
		t.Errorf("%+v", document)
	}
	// A worker that ends during a join costs no row.
	for _, f := range faults[:2] {
		r := document.Find("fault: "+f.name, measure.GPU)
		if r == nil {
			t.Fatalf("no result of %s", f.name)
		}
		if !strings.Contains(r.Texts["notes"], running.state+": right rows, of cpu because cuda: ") {
			t.Errorf("%s: %q", f.name, r.Texts["notes"])
		}
		if r.Values["gpus"] != 2 {
			t.Errorf("%s: %v GPUs", f.name, r.Values["gpus"])
		}
	}
}

// withoutGPU runs something with the cpu provider's worker in place of the GPU's, and reads
// the document that it has written.
func withoutGPU(t *testing.T, run func(context.Context, options) error, o options) *measure.Document {
	t.Helper()
	env, err := harness.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if o.plugin, err = env.BuildWorker(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", filepath.Dir(o.plugin))
	t.Setenv("CUDA_VISIBLE_DEVICES", "0:words,1:words") // as on a GPU, texts become codes
	o.out = filepath.Join(t.TempDir(), "results.json")
	o.workers = 2
	if err := run(t.Context(), o); err != nil {
		t.Error(err)
	}
	document, err := measure.Read(o.out)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// Kept columns with the cpu provider's worker in place of the GPU's: all rows are equal, and all
// inputs are kept.
func TestKeptWithoutGPU(t *testing.T) {
	document := withoutGPU(t, runKept, options{sf: 0.1, devices: 2, strategy: "auto", kept: true, queries: "1 6 3 10 12"})
	queries := map[string]int{}
	for _, r := range document.Results {
		if r.Engine == "" { // the mean
			continue
		}
		queries[r.Engine]++
		if !*r.Equal || r.Values["blocks_fed"] > 0 || len(r.Ms) == 0 {
			t.Errorf("%s by %s: %+v", r.Name, r.Engine, r)
		}
		if r.Engine != measure.Cores && r.Texts["providers"] != "cuda" {
			t.Errorf("%s by %s: %+v", r.Name, r.Engine, r)
		}
		if r.Engine == measure.GPU && (r.Values["device_bytes"] == 0 || r.Values["blocks_kept"] == 0) {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
	for _, engine := range engines[1:] {
		if queries[engine] != 9 {
			t.Errorf("%s: %d queries", engine, queries[engine])
		}
	}
}

// Foreign tables with the cpu provider's worker in place of the GPU's: all rows are those of the
// source, before and after its changes, and foreign tables are read from their mirrors.
func TestForeignWithoutGPU(t *testing.T) {
	document := withoutGPU(t, runForeign, options{sf: 0.05, foreign: true, queries: "1 3 6 14"})
	providers := map[string]string{measure.Cores: "cpu", measure.GPU: "cuda"}
	count, mirrors := map[string]int{}, 0
	for _, r := range document.Results {
		if r.Texts["tables"] == "" { // mirrors, or a native plan
			if rows, ok := r.Values["rows"]; ok {
				mirrors++
				if (r.Values["dead_rows"] > 0) != (r.Texts["stage"] != loaded) || rows == 0 || r.Values["bytes"] == 0 {
					t.Errorf("%+v", r)
				}
			}
			continue
		}
		if !*r.Equal || r.Values["tables_direct"] > 0 || r.Texts["providers"] != providers[r.Engine] {
			t.Errorf("%s by %s: %+v", r.Name, r.Engine, r)
		}
		kept, fed := r.Texts["tables"] == "foreign and kept", r.Texts["tables"] == "foreign and fed"
		if (r.Values["tables_kept"] > 0) != kept || (r.Values["tables_fed"] > 0) != fed {
			t.Errorf("%s by %s: %v", r.Name, r.Engine, r.Values)
		}
		if r.Engine == measure.GPU {
			count[r.Texts["stage"]+", "+r.Texts["tables"]]++
			if r.Values["device_bytes"] == 0 {
				t.Errorf("%s: nothing is on the device", r.Name)
			}
		}
	}
	for _, stage := range []string{loaded, changed, rewritten} {
		for i, want := range []int{8, 5, 5} { // queries, and those of local tables
			if n := count[stage+", "+placements[i].name]; n != want {
				t.Errorf("%s, %s: %d queries", stage, placements[i].name, n)
			}
		}
	}
	if mirrors != 6 { // two daemons
		t.Errorf("%d times the mirrors of a daemon", mirrors)
	}
}
