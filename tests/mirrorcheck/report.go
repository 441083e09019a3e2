package mirrorcheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
)

// Report is the content of build/mirror-check.json.
type Report struct {
	Queries     int            `json:"queries"`
	Mirrored    int            `json:"mirrored"` // of which no table was read directly
	Direct      int            `json:"direct"`   // of which a table was read directly
	Violations  int            `json:"violations"`
	Differences int            `json:"differences"` // of tables at barriers; they are violations
	Seed        uint64         `json:"seed"`
	Server      string         `json:"server"`
	Source      string         `json:"source"`
	Seconds     float64        `json:"seconds"`
	Unknown     int            `json:"unknown"` // queries whose plan nobody has logged
	Jobs        int            `json:"jobs"`    // joins and blocks that the daemon executed
	Failed      map[string]int `json:"failed"`  // transactions that a fault explains, by SQLSTATE
	Refused     int            `json:"refused"` // direct reads in transactions that see an earlier position of mirrors
	Checks      int            `json:"checks"`  // by gpujoin.check_mirror
	Barriers    int            `json:"barriers"`
	Compared    int            `json:"compared"` // tables, at barriers
	Commits     int64          `json:"commits"`  // of writers
	Faults      map[string]int `json:"faults"`
	Reasons     map[string]int `json:"reasons"` // of direct reads
	Invariants  map[string]int `json:"invariants"`
	Cases       []string       `json:"cases"` // the violations
}

// String describes the report in lines, of which the last one is JSON.
func (r *Report) String() string {
	text := fmt.Sprintf("%d queries in %.0f s: %d mirrored, %d direct, %d unknown, %d jobs; %d checks, %d barriers, %d tables compared; %d commits\n",
		r.Queries, r.Seconds, r.Mirrored, r.Direct, r.Unknown, r.Jobs, r.Checks, r.Barriers, r.Compared, r.Commits)
	text += fmt.Sprintf("transactions that faults ended, by SQLSTATE: %v; faults: %v\n", r.Failed, r.Faults)
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		text += fmt.Sprintf("  direct, %d times: %s\n", r.Reasons[reason], reason)
	}
	short, err := json.Marshal(struct {
		Queries    int `json:"queries"`
		Mirrored   int `json:"mirrored"`
		Direct     int `json:"direct"`
		Violations int `json:"violations"`
	}{r.Queries, r.Mirrored, r.Direct, r.Violations})
	if err != nil {
		return err.Error()
	}
	return text + string(short)
}

// mostCases is how many violations end a run.
const mostCases = 5

// campaign collects what is found.
type campaign struct {
	w       *world
	options Options
	began   time.Time
	stop    func()

	mu     sync.Mutex
	report Report
}

func newCampaign(w *world, o Options, stop func()) *campaign {
	return &campaign{w: w, options: o, began: time.Now(), stop: stop, report: Report{Seed: o.Seed, Failed: map[string]int{}, Faults: map[string]int{},
		Reasons: map[string]int{}, Invariants: map[string]int{}}}
}

// numbers are replaced in reasons, so that the same ones are counted together.
var numbers = regexp.MustCompile(`[0-9]+|"public"\."\w+"`)

// add counts a query.
func (c *campaign) add(v *invariant, p foreign.Plan, server string, wrong []string) {
	if text := p.Fault(); text != "" {
		wrong = append(wrong, "fallback: "+text)
	}
	c.mu.Lock()
	r := &c.report
	r.Queries++
	r.Invariants[v.name]++
	r.Jobs += p.Jobs
	for _, reason := range p.Reasons {
		r.Reasons[numbers.ReplaceAllString(reason, "N")]++
	}
	switch {
	case p.Direct > 0:
		r.Direct++
	case p.Mirrored > 0:
		r.Mirrored++
	default:
		r.Unknown++
	}
	c.mu.Unlock()
	if wrong != nil {
		plans, err := json.MarshalIndent(p.Nodes, "", " ")
		if err != nil {
			plans = []byte(err.Error())
		}
		c.violation(server+", "+v.name, strings.Join(wrong, "; ")+"\n"+v.sql+"\n"+string(plans))
	}
}

// violation records something that must not happen.
func (c *campaign) violation(what, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.report
	r.Violations++
	r.Cases = append(r.Cases, what+": "+text)
	c.options.Say("violation %d, seed %d, after %.1f s: %s: %s", r.Violations, r.Seed, time.Since(c.began).Seconds(), what, text)
	if r.Violations >= mostCases {
		c.stop()
	}
}

// reloading is how long mirrors may load again after a fault. Meanwhile tables cannot be read at
// the position of a transaction, nor compared.
const reloading = 20 * time.Second

// failed counts a transaction that an error has ended. It is a violation unless a fault
// explains it, which began before the transaction ended, or the comparison of a table found no
// moment without changes, or a writer has truncated a table that the transaction reads at the
// source: it is to run again.
func (c *campaign) failed(err error, before int64) {
	after := time.Since(time.Unix(0, c.w.over.Load())) < reloading && harness.SQLState(err) == "55000"
	moving := strings.Contains(err.Error(), "changed during each comparison")
	truncated := harness.SQLState(err) == "40001" && strings.Contains(err.Error(), `foreign table "`+truncating+`"`)
	if !moving && !truncated && !excused(err, c.w.disturbed.Load() != before || before%2 == 1 || after) {
		c.violation("an error without a fault", fmt.Sprintf("[%s] %v\n%s", harness.SQLState(err), err, c.w.describe()))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Failed[harness.SQLState(err)]++
}

// excused reports whether a fault explains an error.
func excused(err error, disturbed bool) bool {
	if !disturbed {
		return false
	}
	state := harness.SQLState(err)
	if state == "" {
		return lost(err)
	}
	return slices.Contains([]string{"08", "53", "55", "57", "58"}, state[:2])
}

func (c *campaign) checked(table string, wrong []string) {
	c.mu.Lock()
	c.report.Checks++
	c.mu.Unlock()
	if wrong != nil {
		c.violation("check_mirror of "+table, strings.Join(wrong, "; "))
	}
}

func (c *campaign) compared(table string, wrong []string) {
	c.mu.Lock()
	c.report.Compared++
	if wrong != nil {
		c.report.Differences++
	}
	c.mu.Unlock()
	if wrong != nil {
		c.violation("at a barrier, "+table, strings.Join(wrong, "; "))
	}
}

func (c *campaign) refused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Refused++
}

func (c *campaign) barrier() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Barriers++
}

func (c *campaign) fault(name string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Faults[name]++
	c.options.Say("  %4.0f s: %s, over after %.1f s", time.Since(c.began).Seconds(), name, took.Seconds())
}

// finish completes the report.
func (c *campaign) finish() *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Commits = c.w.commits.Load()
	c.report.Seconds = measure.Round(time.Since(c.began).Seconds(), 1)
	return &c.report
}
