package faults

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"gpujoin/tests/harness/point"
	"gpujoin/tests/measure"
)

// report is the content of build/faults.json.
type report struct {
	Points   int     `json:"points"`  // that were run
	Failed   int     `json:"failed"`  // of these
	Skipped  int     `json:"skipped"` // further points, which this machine cannot cause
	Wrong    int     `json:"wrong"`   // comparisons of rows that failed
	Leaks    int     `json:"leaks"`
	Restarts int     `json:"restarts"` // of a server, which no point has caused
	Server   string  `json:"server"`
	Seconds  float64 `json:"seconds"`
	Rows     []*row  `json:"rows"`
	// Others are failures outside of points, each with its output.
	Others []string `json:"others"`

	say    func(format string, args ...any)
	began  time.Time
	said   time.Time
	tests  map[string]*row             // by package and test
	output map[string]*strings.Builder // of tests that go on
	failed map[string]bool             // tests and packages of which a part has failed
}

// row is a point and what it has led to.
type row struct {
	Test string `json:"test"`
	point.Point
	Result   string   `json:"result"` // "ok", "failed", "skipped", or "unfinished"
	Seconds  float64  `json:"seconds"`
	Findings []string `json:"findings,omitempty"`
	Output   string   `json:"output,omitempty"` // of a point that has failed, or why it was skipped
}

func newReport(server string, say func(string, ...any)) *report {
	return &report{Server: server, say: say, began: time.Now(), said: time.Now(), Rows: []*row{}, Others: []string{},
		tests: map[string]*row{}, output: map[string]*strings.Builder{}, failed: map[string]bool{}}
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, Key, Value string
	ImportPath                                string
	Elapsed                                   float64
}

// add reads an event.
func (r *report) add(e *event) {
	name := e.Package + e.ImportPath + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if r.output[name] == nil {
			r.output[name] = &strings.Builder{}
		}
		r.output[name].WriteString(e.Output)
	case "attr":
		r.attribute(name, e)
	case "pass", "skip":
		if w := r.tests[name]; w != nil {
			r.ended(w, e.Action, e.Elapsed, r.output[name])
		}
		delete(r.output, name)
	case "fail", "build-fail":
		r.fails(name, e)
		delete(r.output, name)
	}
}

// attribute reads what a test says.
func (r *report) attribute(name string, e *event) {
	switch e.Key {
	case point.Attribute:
		w := &row{Test: e.Test, Result: "unfinished"}
		if err := json.Unmarshal([]byte(e.Value), &w.Point); err != nil {
			r.Others = append(r.Others, fmt.Sprintf("%s announces no point: %v", name, err))
			return
		}
		r.tests[name] = w
		r.Rows = append(r.Rows, w)
	case point.WrongAttribute:
		r.Wrong++
		r.found(name, e)
	case point.LeakAttribute:
		r.Leaks++
		r.found(name, e)
	case point.RestartAttribute:
		r.Restarts++
		r.found(name, e)
	}
}

func (r *report) found(name string, e *event) {
	if w := r.tests[name]; w != nil {
		w.Findings = append(w.Findings, e.Key+": "+e.Value)
	}
}

// fails counts a failed point, or a failure of something else that no part of it explains.
func (r *report) fails(name string, e *event) {
	parent, _, _ := strings.Cut(name, " ")
	if i := strings.LastIndex(e.Test, "/"); i >= 0 {
		parent += " " + e.Test[:i]
	} else if e.Test != "" {
		parent += " "
	}
	defer func() { r.failed[parent] = true }()
	if w := r.tests[name]; w != nil {
		r.ended(w, e.Action, e.Elapsed, r.output[name])
		return
	}
	if r.failed[name] {
		return
	}
	text := strings.TrimSpace(name) + " failed"
	if out := r.output[name]; out != nil {
		text += ":\n" + out.String()
	}
	r.Others = append(r.Others, text)
	r.say("%s", text)
}

// ended completes a row.
func (r *report) ended(w *row, action string, seconds float64, out *strings.Builder) {
	w.Seconds = measure.Round(seconds, 2)
	text := ""
	if out != nil {
		text = out.String()
	}
	switch {
	case action == "skip":
		w.Result, w.Output = "skipped", reason(text)
		r.Skipped++
		r.say("  skipped: %s: %s", w.Test, w.Output)
		return
	case action == "pass" && w.Seconds > w.Limit:
		w.Findings = append(w.Findings, fmt.Sprintf("it took %.1f s, and not at most %.0f s", w.Seconds, w.Limit))
	}
	r.Points++
	if action == "pass" && w.Findings == nil {
		w.Result = "ok"
	} else {
		w.Result, w.Output = "failed", text
		r.Failed++
		r.say("  failed: %s: %s\n%s", w.Test, strings.Join(w.Findings, "; "), text)
	}
	if now := time.Now(); now.Sub(r.said) >= 10*time.Second {
		r.said = now
		r.say("  %4.0f s: %d points, %d failed; last: %s", now.Sub(r.began).Seconds(), r.Points, r.Failed, w.Test)
	}
}

// logged is a line that a test has written itself.
var logged = regexp.MustCompile(`(?m)^\s+\w+\.go:\d+: (.*)$`)

// reason returns the last line that a skipped test has written.
func reason(text string) string {
	all := logged.FindAllStringSubmatch(text, -1)
	if all == nil {
		return "no reason is given"
	}
	return all[len(all)-1][1]
}

// finish completes the report: a point whose test has not ended has failed.
func (r *report) finish() {
	r.Seconds = measure.Round(time.Since(r.began).Seconds(), 1)
	for _, w := range r.Rows {
		if w.Result == "unfinished" {
			r.Points++
			r.Failed++
		}
	}
}

func (r *report) bad() bool {
	return r.Failed > 0 || r.Wrong > 0 || r.Leaks > 0 || r.Restarts > 0 || len(r.Others) > 0
}

// table returns the points by what happens, and those that have failed or were skipped.
func (r *report) table() (string, error) {
	type group struct {
		points, failed, skipped int
		slowest                 float64
	}
	groups := map[string]*group{}
	var names []string
	for _, w := range r.Rows {
		name := w.Process + "\t" + w.short()
		g := groups[name]
		if g == nil {
			g = &group{}
			groups[name] = g
			names = append(names, name)
		}
		switch w.Result {
		case "skipped":
			g.skipped++
			continue
		case "ok":
		default:
			g.failed++
		}
		g.points++
		g.slowest = max(g.slowest, w.Seconds)
	}
	lines := []string{"process\twhat happens\tpoints\tfailed\tskipped\tslowest s"}
	for _, name := range names {
		g := groups[name]
		lines = append(lines, fmt.Sprintf("%s\t%d\t%d\t%d\t%.1f", name, g.points, g.failed, g.skipped, g.slowest))
	}
	text, err := measure.TableText(lines...)
	for _, w := range r.Rows {
		if w.Result != "ok" {
			text += fmt.Sprintf("%s: %s: %s %s, %s, %s; expected: %s\n", w.Result, w.Test, w.Process, w.What, w.Moment, w.Shape, w.Expect)
		}
	}
	for _, other := range r.Others {
		first, _, _ := strings.Cut(other, "\n")
		text += "outside of points: " + first + "\n"
	}
	return text, err
}

// short returns what happens, without details that only one point has.
func (w *row) short() string {
	const longest = 48
	switch {
	case strings.HasPrefix(w.What, "sends "):
		return "sends a malformed frame"
	case strings.HasPrefix(w.What, "another version, or wrong"):
		return "says another version or size"
	case len(w.What) > longest:
		return w.What[:longest] + "..."
	}
	return w.What
}

// summary returns the counts in one line of JSON.
func (r *report) summary() string {
	text, err := json.Marshal(struct {
		Points   int `json:"points"`
		Failed   int `json:"failed"`
		Skipped  int `json:"skipped"`
		Wrong    int `json:"wrong"`
		Leaks    int `json:"leaks"`
		Restarts int `json:"restarts"`
	}{r.Points, r.Failed, r.Skipped, r.Wrong, r.Leaks, r.Restarts})
	if err != nil {
		return err.Error()
	}
	return string(text)
}
