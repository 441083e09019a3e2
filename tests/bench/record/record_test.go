package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/measure"
)

// document is one that is recorded as it is.
func document() *measure.Document {
	load, equal := 0.1, true
	return &measure.Document{
		Schema: measure.Schema, Suite: "tpch", Commit: "0123abc", Complete: true, Date: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC),
		Machine:    measure.Machine{ID: "a-2c", CPU: "A", Cores: 2, GPUs: []string{}, Kernel: "6.1", Load1Before: &load},
		Software:   map[string]string{},
		Settings:   map[string]string{},
		Parameters: map[string]any{"sf": 1.0, "runs": 3.0},
		Results:    []measure.Result{{Name: "q1", Engine: measure.Gpujoin, Ms: []float64{2}, Equal: &equal}},
	}
}

func TestRecord(t *testing.T) {
	results := t.TempDir()
	path, err := Record(results, document(), false)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(results, "tpch-sf1", "a-2c.json"); path != want {
		t.Errorf("%s instead of %s", path, want)
	}
	// A newer run replaces it, also with another number of runs.
	newer := document()
	newer.Date = newer.Date.Add(time.Hour)
	newer.Parameters["runs"] = 5.0
	if _, err := Record(results, newer, false); err != nil {
		t.Fatal(err)
	}
	d, err := measure.Read(path)
	if err != nil || d.Parameters["runs"] != 5.0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Whatever its parameters, a result replaces an older one that says less.
func TestRecordOverOlder(t *testing.T) {
	results, older := t.TempDir(), document()
	older.Machine.Load1Before, older.Note = nil, "from a table"
	if _, err := Record(results, older, true); err != nil {
		t.Fatal(err)
	}
	newer := document()
	newer.Parameters["parts"] = "joins"
	if _, err := Record(results, newer, false); err != nil {
		t.Error(err)
	}
}

// A doubtful result is recorded if that is asked for, a wrong one never.
func TestRecordRefuses(t *testing.T) {
	busy := 0.51
	wrong := false
	for _, c := range []struct {
		name, says string
		change     func(d *measure.Document)
		never      bool
	}{
		{"a busy machine", "load before the run was 0.51", func(d *measure.Document) { d.Machine.Load1Before = &busy }, false},
		{"unknown load", "not known", func(d *measure.Document) { d.Machine.Load1Before, d.Note = nil, "old" }, false},
		{"changed files", "differed from commit", func(d *measure.Document) { d.Dirty = true }, false},
		{"an unknown commit", "differed from commit", func(d *measure.Document) { d.Commit = "unknown" }, false},
		{"an older run", "is newer", func(d *measure.Document) { d.Date = d.Date.Add(-time.Hour) }, false},
		{"other parameters", "parameters", func(d *measure.Document) { d.Parameters["queries"] = "1 2" }, false},
		{"an unfinished run", "did not finish", func(d *measure.Document) { d.Complete = false }, true},
		{"wrong rows", "rows are wrong", func(d *measure.Document) { d.Results[0].Equal = &wrong }, true},
		{"an invalid document", "no results", func(d *measure.Document) { d.Results = nil }, true},
	} {
		results := t.TempDir()
		path, err := Record(results, document(), false)
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := document()
		c.change(d)
		if _, err := Record(results, d, false); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s: the recorded result has changed, %v", c.name, err)
		}
		if _, err := Record(results, d, true); (err != nil) != c.never {
			t.Errorf("%s, forced: %v", c.name, err)
		}
	}
}

// A recorded file that is no document is not replaced without a word.
func TestRecordOverGarbage(t *testing.T) {
	results := t.TempDir()
	path := Path(results, document())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Record(results, document(), true); err == nil {
		t.Error("it was replaced")
	}
}
