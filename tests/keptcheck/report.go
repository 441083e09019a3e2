package keptcheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gpujoin/tests/harness"
)

// Report is the content of build/kept-check.json. Pairs are those whose plan the daemon
// executed; a pair counts in both levels if it had blocks of both.
type Report struct {
	Seed        uint64         `json:"seed"`
	Server      string         `json:"server"`
	Seconds     float64        `json:"seconds"`
	Pairs       int            `json:"pairs"`
	Kept        int            `json:"kept"`   // with blocks of any level
	Level1      int            `json:"level1"` // with blocks that the visibility map alone proved
	Level2      int            `json:"level2"` // with blocks that the LSN of their page proved
	Fed         int            `json:"fed"`    // with no block that was kept
	Plain       int            `json:"plain"`  // of these, those without an input that may be kept
	Differences int            `json:"differences"`
	Native      int            `json:"native"`  // further pairs, which the daemon did not execute; compared, too
	Failed      int            `json:"failed"`  // pairs whose kept run a fault or a conflict ended
	Skipped     map[string]int `json:"skipped"` // transactions that an error in no kept run ended, by SQLSTATE
	Blocks      Blocks         `json:"blocks"`
	Rows        int            `json:"rows"`
	Kinds       map[string]int `json:"kinds"` // pairs, by transaction
	Fallbacks   map[string]int `json:"fallbacks"`
	Kills       int64          `json:"crashes"` // crash recoveries of the server
	Cases       []string       `json:"cases"`   // the differences
}

// Blocks counts blocks of all pairs by how the daemon got them.
type Blocks struct {
	Kept     float64 `json:"kept"`
	Proved   float64 `json:"proved"`
	Fed      float64 `json:"fed"`
	Captured float64 `json:"captured"` // of those that were fed
}

// String describes the report in lines.
func (r *Report) String() string {
	share := 0.0
	if r.Pairs > 0 {
		share = 100 * float64(r.Kept) / float64(r.Pairs)
	}
	text := fmt.Sprintf("%d pairs in %.0f s, %.0f %% of them with kept blocks: %d at level 1, %d at level 2; %d fed (%d without any input that may be kept); %d differences\n",
		r.Pairs, r.Seconds, share, r.Level1, r.Level2, r.Fed, r.Plain, r.Differences)
	text += fmt.Sprintf("%d native pairs, %d failed; blocks: %.0f kept, %.0f proved, %.0f fed, of these %.0f captured; %d rows\n",
		r.Native, r.Failed, r.Blocks.Kept, r.Blocks.Proved, r.Blocks.Fed, r.Blocks.Captured, r.Rows)
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		text += fmt.Sprintf("  %s: %d\n", kind, r.Kinds[kind])
	}
	text += fmt.Sprintf("  transactions that failed, by SQLSTATE: %v\n", r.Skipped)
	for _, reason := range slices.Sorted(maps.Keys(r.Fallbacks)) {
		text += fmt.Sprintf("  fallback, %d times: %s\n", r.Fallbacks[reason], reason)
	}
	return strings.TrimRight(text, "\n")
}

// mostCases is how many differences end a run.
const mostCases = 5

// campaign collects what readers find.
type campaign struct {
	w       *world
	options Options
	began   time.Time
	stop    func()

	mu     sync.Mutex
	report Report
}

// add counts a pair.
func (c *campaign) add(p *pair) {
	disturbed := c.w.disturbed.Load() != p.before || p.before%2 == 1
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.report
	difference := ""
	switch {
	case p.err != nil && excused(p.err, disturbed):
		r.Failed++
		return
	case p.err != nil:
		difference = "the kept run failed: " + p.err.Error()
	default:
		difference = harness.SameRows(p.native, p.kept)
		r.Rows += len(p.native.Rows)
	}
	if difference == "" && !disturbed {
		difference = p.plan.fault()
	}
	c.count(&p.plan, p.kind)
	if difference != "" {
		r.Differences++
		text := fmt.Sprintf("%s: %s\n%s\n%s%v", p.kind, p.sql, difference, p.after, &p.plan)
		r.Cases = append(r.Cases, text)
		c.options.Say("difference %d, seed %d, after %.1f s: %s", r.Differences, r.Seed, time.Since(c.began).Seconds(), text)
		if r.Differences >= mostCases {
			c.stop()
		}
	}
}

// skip counts a transaction that an error in no kept run has ended.
func (c *campaign) skip(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.Skipped == nil {
		c.report.Skipped = map[string]int{}
	}
	c.report.Skipped[harness.SQLState(err)]++
	if !expected(err) && c.report.Skipped[harness.SQLState(err)] <= 3 {
		c.options.Say("a transaction failed: %v", err)
	}
}

// count counts by what the daemon did.
func (c *campaign) count(p *plan, kind string) {
	r := &c.report
	if r.Kinds == nil {
		r.Kinds, r.Fallbacks = map[string]int{}, map[string]int{}
	}
	for _, reason := range p.fallbacks {
		r.Fallbacks[reason]++
	}
	if p.executed == 0 {
		r.Native++
		return
	}
	r.Pairs++
	r.Kinds[kind]++
	r.Blocks.Kept += p.kept
	r.Blocks.Proved += p.proved
	r.Blocks.Fed += p.fed
	r.Blocks.Captured += p.stored
	if p.kept > 0 {
		r.Level1++
	}
	if p.proved > 0 {
		r.Level2++
	}
	if p.kept+p.proved > 0 {
		r.Kept++
	} else {
		r.Fed++
	}
	if p.kept+p.proved+p.fed == 0 {
		r.Plain++
	}
}

// excused reports whether a fault or a conflict, and not the kept run, is the cause of an error.
func excused(err error, disturbed bool) bool {
	if errors.Is(err, errHang) {
		return false
	}
	switch harness.SQLState(err) {
	case "40001", "40P01", "55P03":
		return true
	case "57P01", "57P02", "57P03", "08006":
		return disturbed
	}
	return disturbed && errors.Is(err, errLost)
}

// watch shows progress, and ends the run when a process ends that nobody has ended.
func (c *campaign) watch(ctx context.Context) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.mu.Lock()
			r := c.report
			c.mu.Unlock()
			c.options.Say("  %4.0f s: %d pairs, %d with kept blocks, %d at level 1, %d at level 2, %d native, %d failed, %d differences",
				time.Since(c.began).Seconds(), r.Pairs, r.Kept, r.Level1, r.Level2, r.Native, r.Failed, r.Differences)
			c.options.Say("         %s", c.w.keptStatus())
			if broken := c.w.broken(); broken != "" {
				c.options.Say("%s", broken)
				c.stop()
			}
		}
	}
}
