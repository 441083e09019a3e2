package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/tests/harness"
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
	err = run(t.Context(), options{plugin: worker, out: out, rows: 300_000, runs: 1, workers: 2, devices: 2, parts: "joins,faults"})
	if err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Results []*result
		Phases  []*phasesResult
		Faults  []*faultResult
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Results) != 2 || len(document.Faults) != len(faults) {
		t.Fatalf("%d joins and %d faults", len(document.Results), len(document.Faults))
	}
	for _, r := range document.Results {
		if r.CUDA.Joins != 1 || r.CUDA.Providers != "cuda" {
			t.Errorf("%s: %d joins on %q", r.Query, r.CUDA.Joins, r.CUDA.Providers)
		}
		if r.Several == nil || r.Several.Devices != 2 || !r.Several.Equal || r.Several.Reason != "" {
			t.Errorf("%s on several devices: %+v", r.Query, r.Several)
		}
	}
	if len(document.Phases) != 6 { // of two joins in three modes
		t.Errorf("phases of %d joins", len(document.Phases))
	}
	for _, r := range document.Phases {
		if r.Algorithm == "" || r.Ms <= 0 || len(r.Phases) < 2 {
			t.Errorf("%+v", r)
		}
	}
	// A worker that ends during a join costs no row.
	for _, f := range document.Faults[:2] {
		if !strings.Contains(strings.Join(f.Notes, "\n"), running.state+": right rows, of cpu because cuda: ") {
			t.Errorf("%s: %q", f.Fault, f.Notes)
		}
		if f.GPUs != 2 {
			t.Errorf("%s: %d GPUs", f.Fault, f.GPUs)
		}
	}
}

// withoutGPU runs something with the cpu provider's worker in place of the GPU's, and reads
// the results that it has written.
func withoutGPU(t *testing.T, run func(context.Context, options) error, o options, document any) {
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
	text, err := os.ReadFile(o.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, document); err != nil {
		t.Fatal(err)
	}
}

// Kept columns with the cpu provider's worker in place of the GPU's: all rows are equal, and all
// inputs are kept.
func TestKeptWithoutGPU(t *testing.T) {
	var document struct{ Kept []*keptResult }
	withoutGPU(t, runKept, options{sf: 0.1, devices: 2, kept: true, queries: "1 6 3 10 12"}, &document)
	if len(document.Kept) != 9 {
		t.Fatalf("%d queries", len(document.Kept))
	}
	for _, r := range document.Kept {
		if r.Device == 0 {
			t.Errorf("%s: the view shows nothing on the device", r.Query)
		}
		if !r.Equal || len(r.Kept) != 3 || r.Kept[0].Fed+r.Kept[1].Fed+r.Kept[2].Fed > 0 || r.Kept[1].Blocks == 0 {
			t.Errorf("%s: %+v, kept %v", r.Query, r, r.Kept)
		}
		for _, on := range []*times{r.CUDA, r.Several} {
			if on.Providers != "cuda" || on.Ms == 0 {
				t.Errorf("%s: on CUDA %+v", r.Query, on)
			}
		}
	}
}

// Foreign tables with the cpu provider's worker in place of the GPU's: all rows are those of the
// source, before and after its changes, and foreign tables are read from their mirrors.
func TestForeignWithoutGPU(t *testing.T) {
	var document struct {
		Foreign []*foreignResult
		Mirrors []*mirrorsResult
	}
	withoutGPU(t, runForeign, options{sf: 0.05, foreign: true, queries: "1 3 6 14"}, &document)
	count := map[string]int{}
	for _, r := range document.Foreign {
		count[r.Stage+", "+r.Tables]++
		if note := r.wrong(); note != "" || r.CUDA.Providers != "cuda" || r.CPU.Providers != "cpu" || r.Device == 0 {
			t.Errorf("%s, %s, %s: %s; on cores %+v, on CUDA %+v, %d bytes there", r.Stage, r.Query, r.Tables, note, r.CPU, r.CUDA, r.Device)
		}
		for _, read := range r.Read {
			if kept, fed := r.Tables == "foreign and kept", r.Tables == "foreign and fed"; (read.Kept > 0) != kept || (read.Fed > 0) != fed {
				t.Errorf("%s, %s, %s: %v", r.Stage, r.Query, r.Tables, read)
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
	for _, m := range document.Mirrors {
		if (m.Dead > 0) != (m.Stage != loaded) || m.Rows == 0 || m.Bytes == 0 {
			t.Errorf("%+v", m)
		}
	}
	if len(document.Mirrors) != 6 { // two daemons
		t.Errorf("%d times the mirrors of a daemon", len(document.Mirrors))
	}
}
