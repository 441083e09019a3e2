package soak

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"gpujoin/tests/measure"
)

// slowdown is how many times the 95th percentile of the short transactions' latencies may be
// that of the same run without the extension.
const slowdown = 1.3

// Report is the content of build/soak.json.
type Report struct {
	Circumstances string           `json:"circumstances"`
	Server        string           `json:"server"`
	Seed          uint64           `json:"seed"`
	Seconds       float64          `json:"seconds"`
	Clients       int              `json:"clients"`
	Queries       map[string]int   `json:"queries"`  // of readers, with and without the extension
	Compared      int              `json:"compared"` // with the extension, with the native plan
	Wrong         int              `json:"wrong"`
	Offloaded     int64            `json:"offloaded"` // joins that the daemon has executed
	Transactions  map[string]Times `json:"transactions"`
	Ratio         float64          `json:"p95_ratio"` // with to without
	Bar           float64          `json:"p95_bar"`
	Growing       int              `json:"growing"`
	Growth        []growth         `json:"growth"`
	Samples       int              `json:"samples"`
	Cases         []string         `json:"cases"` // rows that differ
}

// Times describe the short transactions of a mode.
type Times struct {
	Count    int     `json:"count"`
	MedianMs float64 `json:"median_ms"`
	P95Ms    float64 `json:"p95_ms"`
}

// campaign collects what clients see.
type campaign struct {
	mu      sync.Mutex
	report  Report
	times   [2][]float64
	queries [2]int
}

func (c *campaign) count(m mode, compared bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries[m]++
	if compared && m == with {
		c.report.Compared++
	}
}

func (c *campaign) wrong(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Wrong++
	c.report.Cases = append(c.report.Cases, text)
	fmt.Println(text)
}

func (c *campaign) took(m mode, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[m] = append(c.times[m], measure.Ms(d))
}

// progress describes the run up to now.
func (c *campaign) progress() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d and %d queries, %d compared, %d wrong; %d and %d short transactions", c.queries[with], c.queries[without],
		c.report.Compared, c.report.Wrong, len(c.times[with]), len(c.times[without]))
}

// finish completes the report.
func (c *campaign) finish(samples []sample) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.report
	r.Samples, r.Bar = len(samples), slowdown
	r.Queries, r.Transactions = map[string]int{}, map[string]Times{}
	for _, m := range []mode{without, with} {
		r.Queries[m.String()] = c.queries[m]
		ms := slices.Sorted(slices.Values(c.times[m]))
		if len(ms) == 0 {
			return fmt.Errorf("no short transaction %s the extension", m)
		}
		r.Transactions[m.String()] = Times{len(ms), measure.Median(ms), ms[len(ms)*95/100]}
	}
	r.Ratio = measure.Round(r.Transactions[with.String()].P95Ms/r.Transactions[without.String()].P95Ms, 2)
	var err error
	r.Growth, err = grown(samples)
	for _, g := range r.Growth {
		if g.Grows {
			r.Growing++
		}
	}
	return err
}

// verdict returns what is wrong.
func (r *Report) verdict() (wrong []string) {
	if r.Wrong > 0 {
		wrong = append(wrong, fmt.Sprintf("the rows of %d queries", r.Wrong))
	}
	if r.Compared == 0 || r.Offloaded == 0 {
		wrong = append(wrong, "nothing was compared, or nothing was offloaded")
	}
	for _, g := range r.Growth {
		if g.Grows {
			wrong = append(wrong, fmt.Sprintf("%s: %s grow from %.1f to %.1f", g.Process, g.Metric, g.Second, g.Last))
		}
	}
	if r.Ratio > r.Bar {
		wrong = append(wrong, fmt.Sprintf("short transactions take %.2f times as long as without the extension (95th percentile), and not at most %.1f", r.Ratio, r.Bar))
	}
	return wrong
}

// table returns the numbers: kinds of processes, and of single processes those that changed most.
func (r *Report) table() (string, error) {
	const single = 10
	shown := slices.Clone(r.Growth)
	kinds := slices.IndexFunc(shown, func(g growth) bool {
		return g.Process != kindDaemon && g.Process != kindWorker && g.Process != kindServer
	})
	if kinds >= 0 {
		slices.SortStableFunc(shown[kinds:], func(a, b growth) int { return int(10 * (b.Last - b.Second - a.Last + a.Second)) })
		shown = shown[:min(len(shown), kinds+single)]
	}
	lines := []string{"process\tmeasure\tsecond third\tlast third\tper hour\tgrows"}
	for _, g := range shown {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%.1f\t%.1f\t%.1f\t%v", g.Process, g.Metric, g.Second, g.Last, g.PerHour, g.Grows))
	}
	text, err := measure.TableText(lines...)
	if err != nil {
		return "", err
	}
	lines = []string{"short transactions\tcount\tmedian ms\tp95 ms"}
	for _, m := range []mode{without, with} {
		t := r.Transactions[m.String()]
		lines = append(lines, fmt.Sprintf("%s the extension\t%d\t%.2f\t%.2f", m, t.Count, t.MedianMs, t.P95Ms))
	}
	times, err := measure.TableText(lines...)
	return text + "\n" + times, err
}

// summary returns the numbers in one line of JSON.
func (r *Report) summary() (string, error) {
	text, err := json.Marshal(struct {
		Clients   int     `json:"clients"`
		Seconds   float64 `json:"seconds"`
		Compared  int     `json:"compared"`
		Wrong     int     `json:"wrong"`
		Offloaded int64   `json:"offloaded"`
		Growing   int     `json:"growing"`
		Ratio     float64 `json:"p95_ratio"`
		Bar       float64 `json:"p95_bar"`
	}{r.Clients, r.Seconds, r.Compared, r.Wrong, r.Offloaded, r.Growing, r.Ratio, r.Bar})
	return string(text), err
}
