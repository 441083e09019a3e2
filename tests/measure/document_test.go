package measure

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// example is a document that has everything.
func example() *Document {
	load, yes := 0.25, true
	return &Document{
		Schema: Schema, Suite: "tpch", Commit: "cc74a0d", Date: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC), Complete: true,
		Machine:    Machine{ID: "amd-epyc-2c-h100", CPU: "AMD EPYC", Cores: 2, MemoryGiB: 24, GPUs: []string{"NVIDIA H100"}, Driver: "580.1", Kernel: "6.1", Load1Before: &load},
		Software:   map[string]string{Postgres: "15.20"},
		Settings:   map[string]string{"jit": "off"},
		Parameters: map[string]any{"sf": 1.0, "runs": 3.0, "parts": "a,b", "kept": false},
		Results: []Result{
			{Name: "q1", Engine: Postgres, Ms: []float64{1758.8, 1761, 1755.2}, Rows: 4, Equal: &yes},
			{Name: "q1", Engine: Gpujoin, Ms: []float64{245.4}, Values: map[string]float64{"joins": 0, "added_us": -1.5}, Texts: map[string]string{"algorithm": "npj"}},
		},
	}
}

// What is written is read again.
func TestRoundTrip(t *testing.T) {
	path, d := filepath.Join(t.TempDir(), "a", "tpch.json"), example()
	if err := d.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, d) {
		t.Errorf("%+v\ninstead of\n%+v", got, d)
	}
	if got.Directory() != "tpch-sf1" {
		t.Errorf("its directory is %s", got.Directory())
	}
	delete(got.Parameters, "sf")
	if got.Directory() != "tpch" {
		t.Errorf("without a scale factor, its directory is %s", got.Directory())
	}
}

// A file may be anybody's: what cannot be true, or would leave its directory, is refused.
func TestRefusal(t *testing.T) {
	for name, change := range map[string]func(d *Document){
		"another schema":        func(d *Document) { d.Schema = 2 },
		"a path as suite":       func(d *Document) { d.Suite = "../../etc" },
		"a path as machine":     func(d *Document) { d.Machine.ID = "a/b" },
		"no commit":             func(d *Document) { d.Commit = "HEAD" },
		"no date":               func(d *Document) { d.Date = time.Time{} },
		"no cores":              func(d *Document) { d.Machine.Cores = 0 },
		"unknown load":          func(d *Document) { d.Machine.Load1Before = nil },
		"no kernel":             func(d *Document) { d.Machine.Kernel = "" },
		"no results":            func(d *Document) { d.Results = nil },
		"a time of 0":           func(d *Document) { d.Results[0].Ms[1] = 0 },
		"a negative time":       func(d *Document) { d.Results[0].Ms[1] = -1 },
		"a result twice":        func(d *Document) { d.Results[1].Engine = Postgres },
		"a result without name": func(d *Document) { d.Results[0].Name = "" },
		"a line break":          func(d *Document) { d.Results[1].Texts["algorithm"] = "a\nb" },
		"a list as parameter":   func(d *Document) { d.Parameters["x"] = []any{1.0} },
	} {
		d := example()
		change(d)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(data); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if err := d.Write(filepath.Join(t.TempDir(), "x.json")); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	good, err := json.Marshal(example())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"more behind it":   string(good) + "{}",
		"an unknown field": strings.Replace(string(good), `"suite"`, `"sweet":1,"suite"`, 1),
		"half a file":      string(good[:len(good)/2]),
		"nothing":          "",
	} {
		if _, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, mostBytes+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(large); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a large file: %v", err)
	}
}

// A note says why an older result lacks what was not recorded.
func TestNoteExcuses(t *testing.T) {
	d := example()
	d.Machine.Kernel, d.Machine.Load1Before, d.Note = "", nil, "from an older table"
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
}

func TestMachineID(t *testing.T) {
	for _, c := range []struct {
		cpu   string
		cores int
		gpus  []string
		want  string
	}{
		{"Intel(R) Xeon(R) Processor", 2, nil, "intel-xeon-2c"},
		{"Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", 16, []string{"NVIDIA H100 80GB HBM3"}, "intel-xeon-platinum-8481c-16c-h100"},
		{"AMD EPYC 9R14 96-Core Processor", 32, []string{"NVIDIA H200", "NVIDIA H200"}, "amd-epyc-9r14-32c-2x-h200"},
	} {
		if got := MachineID(c.cpu, c.cores, c.gpus); got != c.want {
			t.Errorf("%s: %s instead of %s", c.cpu, got, c.want)
		}
	}
}

// A run describes this machine, and writes nothing before it has a result.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	run, err := Flags{}.BeginOf(t.Context(), "bench-join", path, "0123abc-dirty")
	if err != nil {
		t.Fatal(err)
	}
	run.Server("PostgreSQL 15.20 (Debian 15.20-0+deb12u1)", map[string]string{"checkpoint_timeout": "'30min'"})
	run.Parameter("rows", 1000)
	if err := run.Save(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file without results")
	}
	results := []Result{{Name: "10Mx1K", Engine: Gpujoin, Ms: []float64{3}}}
	if err := run.Save(results); err != nil {
		t.Fatal(err)
	}
	if d, err := Read(path); err != nil || d.Complete {
		t.Errorf("an unfinished run: %+v, %v", d, err)
	}
	if err := run.Finish(results); err != nil {
		t.Fatal(err)
	}
	d, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Complete || !d.Dirty || d.Commit != "0123abc" || d.Software[Postgres] != "15.20" || d.Settings["checkpoint_timeout"] != "30min" || d.Parameters["rows"] != 1000.0 {
		t.Errorf("%+v", d)
	}
	if d.Machine.Load1Before == nil || d.Machine.Cores == 0 || d.Machine.Kernel == "" {
		t.Errorf("%+v", d.Machine)
	}
}

func TestGeometricMean(t *testing.T) {
	var g GeometricMean
	if g.String() != "-" || g.Value() != 0 {
		t.Errorf("of nothing: %v", g)
	}
	g.Add(8, 2)
	g.Add(1, 0)
	g.Add(9, 9)
	if g.Value() != 2 || g.Count() != 2 {
		t.Errorf("%v of %d", g.Value(), g.Count())
	}
}

func TestDistinct(t *testing.T) {
	list := Distinct([]Result{{Name: "a", Engine: "x", Rows: 1}, {Name: "a", Engine: "y"}, {Name: "a", Engine: "x", Rows: 2}})
	if len(list) != 2 || list[0].Rows != 1 {
		t.Errorf("%+v", list)
	}
	if names := (&Document{Results: list}).Names(); len(names) != 1 {
		t.Errorf("%v", names)
	}
}
