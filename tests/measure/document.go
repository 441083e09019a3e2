package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Schema is the version of Document.
const Schema = 1

// Document is what a benchmark writes: where, when and of what, and its results. All suites
// share it.
type Document struct {
	Schema   int       `json:"schema"`
	Suite    string    `json:"suite"` // such as tpch, or tpch-kept
	Commit   string    `json:"commit"`
	Dirty    bool      `json:"dirty"` // files differed from the commit
	Date     time.Time `json:"date"`  // of the beginning
	Complete bool      `json:"complete"`
	Note     string    `json:"note,omitempty"`
	Machine  Machine   `json:"machine"`
	// Software has versions by name: postgres, gpujoin, duckdb.
	Software map[string]string `json:"software"`
	// Settings are those of the PostgreSQL server.
	Settings map[string]string `json:"settings"`
	// Parameters are those of the benchmark: numbers, texts, true and false.
	Parameters map[string]any `json:"parameters"`
	Results    []Result       `json:"results"`
}

// Result is one measured thing, such as a query by one engine.
type Result struct {
	Name   string `json:"name"`
	Engine string `json:"engine,omitempty"` // what executed it
	// Ms are the times of all measured runs, in milliseconds.
	Ms    []float64 `json:"ms,omitempty"`
	Rows  int       `json:"rows,omitempty"`
	Equal *bool     `json:"equal,omitempty"` // to the reference; nil: not compared
	// Values are other quantities. Their names have their units.
	Values map[string]float64 `json:"values,omitempty"`
	Texts  map[string]string  `json:"texts,omitempty"`
}

// Names of engines.
const (
	Postgres  = "postgres"
	Gpujoin   = "gpujoin"         // what the planner chooses
	Forced    = "gpujoin forced"  // all that can be offloaded is
	Foreign   = "gpujoin foreign" // over mirrors of another server's tables
	Kept      = "gpujoin kept"    // over kept columns, next to another engine of gpujoin
	DuckDB    = "duckdb"
	PgScanner = "duckdb on postgres" // DuckDB reads PostgreSQL's tables by its extension
	Cores     = "cores"
	GPU       = "gpu"
	GPUs      = "several gpus"
)

// Workers names PostgreSQL with another number of workers for each Gather.
func Workers(n int) string { return fmt.Sprintf("%s %d workers", Postgres, n) }

// Median returns the median of the times.
func (r *Result) Median() float64 { return Median(r.Ms) }

// Find returns the result of a name and an engine, nil if there is none.
func (d *Document) Find(name, engine string) *Result {
	for i := range d.Results {
		if r := &d.Results[i]; r.Name == name && r.Engine == engine {
			return r
		}
	}
	return nil
}

// Distinct returns the first result of each name and engine.
func Distinct(results []Result) (list []Result) {
	seen := map[[2]string]bool{}
	for _, r := range results {
		if key := [2]string{r.Name, r.Engine}; !seen[key] {
			seen[key] = true
			list = append(list, r)
		}
	}
	return list
}

// Names returns the names of results in their order, each once.
func (d *Document) Names() (names []string) {
	seen := map[string]bool{}
	for _, r := range d.Results {
		if !seen[r.Name] {
			names = append(names, r.Name)
		}
		seen[r.Name] = true
	}
	return names
}

// Directory is the name of the directory of the suite's recorded results: a suite of data of
// several sizes has one for each.
func (d *Document) Directory() string {
	if sf, ok := d.Parameters["sf"].(float64); ok {
		return fmt.Sprintf("%s-sf%g", d.Suite, sf)
	}
	return d.Suite
}

// mostBytes bounds a document's file.
const mostBytes = 16 << 20

// Read reads a document and checks it: who wrote the file is not known.
func Read(path string) (*Document, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > mostBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, mostBytes)
	}
	d, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// Decode decodes a document and checks it.
func Decode(data []byte) (*Document, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	d := &Document{}
	if err := decoder.Decode(d); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the document")
	}
	return d, d.Validate()
}

// Write checks the document and writes it.
func (d *Document) Write(path string) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return WriteJSON(path, d)
}

var (
	// word is the name of a suite, a machine or a parameter. It becomes part of a path.
	word   = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	commit = regexp.MustCompile(`^([0-9a-f]{7,40}|unknown)$`)
	// plain is a text of one line that needs no escape in a table.
	plain = regexp.MustCompile(`^[^\x00-\x1f\x7f]*$`)
)

// Validate returns what is wrong with the document.
func (d *Document) Validate() error {
	var wrong []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	if d.Schema != Schema {
		return fmt.Errorf("schema %d instead of %d", d.Schema, Schema)
	}
	check(word.MatchString(d.Suite), "suite %q is no name", d.Suite)
	check(commit.MatchString(d.Commit), "commit %q is no hash", d.Commit)
	check(d.Date.Year() >= 2000 && d.Date.Year() < 3000, "date %v", d.Date)
	check(plain.MatchString(d.Note), "note %q has control characters", d.Note)
	m := d.Machine
	check(word.MatchString(m.ID), "machine.id %q is no name", m.ID)
	check(m.CPU != "" && plain.MatchString(m.CPU), "machine.cpu %q", m.CPU)
	check(m.Cores > 0 && m.MemoryGiB >= 0, "machine: %d cores, %g GiB", m.Cores, m.MemoryGiB)
	check(m.Kernel != "" || d.Note != "", "machine.kernel is empty, and no note says why")
	check(m.Load1Before != nil || d.Note != "", "machine.load1_before is null, and no note says why")
	check(m.Load1Before == nil || measurable(*m.Load1Before), "machine.load1_before")
	for name, value := range d.Parameters {
		number, isNumber := value.(float64)
		text, isText := value.(string)
		_, isBool := value.(bool)
		check(word.MatchString(name), "parameter %q is no name", name)
		check(isNumber && measurable(number) || isText && plain.MatchString(text) || isBool, "parameter %s is %v", name, value)
	}
	for _, texts := range []map[string]string{d.Software, d.Settings} {
		for name, text := range texts {
			check(plain.MatchString(name+text), "%q: %q has control characters", name, text)
		}
	}
	check(len(d.Results) > 0, "no results")
	seen := map[[2]string]bool{}
	for _, r := range d.Results {
		check(!seen[[2]string{r.Name, r.Engine}], "%q by %q appears twice", r.Name, r.Engine)
		seen[[2]string{r.Name, r.Engine}] = true
		if err := r.validate(); err != nil {
			wrong = append(wrong, fmt.Errorf("%q by %q: %w", r.Name, r.Engine, err))
		}
	}
	return errors.Join(wrong...)
}

func measurable(v float64) bool { return v >= 0 && v < 1e18 } // not NaN

func (r *Result) validate() error {
	if r.Name == "" || !plain.MatchString(r.Name+r.Engine) || r.Rows < 0 {
		return errors.New("no name, control characters in it, or fewer than no rows")
	}
	for _, ms := range r.Ms {
		if !measurable(ms) || ms == 0 {
			return fmt.Errorf("%v ms", ms)
		}
	}
	for name, v := range r.Values { // differences may be negative
		if !plain.MatchString(name) || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%q is %v", name, v)
		}
	}
	for name, text := range r.Texts {
		if !plain.MatchString(name + text) {
			return fmt.Errorf("%q: %q has control characters", name, text)
		}
	}
	return nil
}
