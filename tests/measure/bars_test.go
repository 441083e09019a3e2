package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpujoin/bench"
)

// A bar is met from its own value on, in its direction.
func TestBar(t *testing.T) {
	at := 5.0
	for _, c := range []struct {
		bar     Bar
		value   float64
		verdict string
	}{
		{Bar{}, 5, ""}, {Bar{Least: &at}, 5, "yes"}, {Bar{Least: &at}, 4, "NO"}, {Bar{Least: &at}, 6, "yes"},
		{Bar{Most: &at}, 5, "yes"}, {Bar{Most: &at}, 4, "yes"}, {Bar{Most: &at}, 6, "NO"},
	} {
		if got := c.bar.Verdict(c.value); got != c.verdict {
			t.Errorf("%v of %v: %q", c.value, c.bar, got)
		}
	}
	if text := (Bar{Least: &at}).String() + (Bar{Most: &at}).String() + (Bar{}).String(); text != "≥ 5≤ 5" {
		t.Error(text)
	}
}

func TestBarsFile(t *testing.T) {
	bars, err := parseBars(bench.Bars)
	if err != nil {
		t.Fatal(err)
	}
	first := bars[0]
	if got := BarOf(first.Suite, first.Name, first.Value); got.String() != first.String() {
		t.Errorf("%v instead of %v", got, first)
	}
	if BarOf(first.Suite, first.Name, "no value").Exists() {
		t.Error("there is a bar for no value")
	}
	for name, text := range map[string]string{
		"both directions": `{"schema":1,"bars":[{"suite":"a","name":"b","value":"ms","least":1,"most":2}]}`,
		"no direction":    `{"schema":1,"bars":[{"suite":"a","name":"b","value":"ms"}]}`,
		"one bar twice":   `{"schema":1,"bars":[{"suite":"a","name":"b","value":"ms","least":1},{"suite":"a","name":"b","value":"ms","least":2}]}`,
		"no name":         `{"schema":1,"bars":[{"suite":"a","value":"ms","least":1}]}`,
		"another schema":  `{"schema":2,"bars":[]}`,
		"another field":   `{"schema":1,"bars":[],"x":1}`,
	} {
		if _, err := parseBars([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// sources are the directories of the suites that have bars.
var sources = map[string]string{
	"bench-join": "bench/join", "bench-mirror": "bench/mirror", "tpch-foreign": "suite", "gpu-e2e": "gpu/e2e", "gpu-e2e-kept": "gpu/e2e",
	"bench-gpu": "gpu/bench", "bench-multi": "gpu/multi",
}

// Every bar is that of something that its suite measures: a recorded result has its name and
// value, or both stand in the suite's source.
func TestBarsMatchResults(t *testing.T) {
	recorded := map[[2]string]bool{} // a suite's result
	values := map[[3]string]bool{}
	paths, err := filepath.Glob("../../bench/results/*/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d results, %v", len(paths), err)
	}
	for _, path := range paths {
		d, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range d.Results {
			recorded[[2]string{d.Suite, r.Name}] = true
			values[[3]string{d.Suite, r.Name, "ms"}] = values[[3]string{d.Suite, r.Name, "ms"}] || len(r.Ms) > 0
			for value := range r.Values {
				values[[3]string{d.Suite, r.Name, value}] = true
			}
		}
	}
	for _, bar := range Bars() {
		key := [3]string{bar.Suite, bar.Name, bar.Value}
		if values[key] {
			continue
		}
		source := sourceOf(t, sources[bar.Suite])
		if !recorded[[2]string{bar.Suite, bar.Name}] && !strings.Contains(source, `"`+bar.Name+`"`) && !computed(bar.Name) {
			t.Errorf("%v: no result and no text of the suite has the name", key)
		}
		if !strings.Contains(source, `"`+bar.Value+`"`) {
			t.Errorf("%v: neither a result nor a text of the suite has the value", key)
		}
	}
}

// computed reports whether a name is not a text of a source: the joins of the scale factor 10,
// whose numbers of rows are computed.
func computed(name string) bool { return name == "40 M x 10 M" || strings.HasPrefix(name, "TPC-H ") }

// sourceOf returns the Go source of a package of this module.
func sourceOf(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
	if err != nil || dir == "" || len(paths) == 0 {
		t.Fatalf("no source in %q: %v", dir, err)
	}
	var text strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	return text.String()
}
