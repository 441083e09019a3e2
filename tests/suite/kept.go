package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gpujoin/tests/harness"
)

// Kept is what a measured query read from columns that the daemon had kept.
type Kept struct {
	Blocks int      `json:"blocks"`         // of tables, that were served
	Fed    int      `json:"fed"`            // that were fed nevertheless
	Why    []string `json:"why,omitempty"`  // inputs that were fed, in part or whole
	Runs   int      `json:"runs,omitempty"` // before the measurement, which stored them
}

const (
	// mostWarmRuns bounds the runs that store columns.
	mostWarmRuns = 6
	// publishing is how long the daemon takes at most to tell planners what it has.
	publishing = 1500 * time.Millisecond
)

// KeptBy returns what the jobs of an executed plan have read from kept columns.
func KeptBy(plan harness.Node) *Kept {
	k := &Kept{}
	for _, job := range plan.Jobs() {
		if job.Text("Fallback") != "" || job.Text("Provider") == "" {
			continue
		}
		for _, input := range job.Inputs() {
			fed := int(input.Number("Blocks Fed"))
			k.Fed += fed
			k.Blocks += int(input.Number("Blocks Kept") + input.Number("Blocks Proved"))
			switch {
			case input["Blocks Fed"] == nil:
				k.Why = append(k.Why, input.Text("Alias")+": fed whole")
			case fed > 0:
				k.Why = append(k.Why, fmt.Sprintf("%s: %d blocks", input.Text("Alias"), fed))
			}
		}
	}
	return k
}

// Warm runs a query in the session's mode until all blocks of its inputs are served, or
// another run stores no more of them. Afterwards planners know what is kept.
func (k *Kept) warm(ctx context.Context, s *harness.Session, sql string) error {
	if err := s.Exec(ctx, "set gpujoin.keep = always"); err != nil {
		return err
	}
	for last := -1; k.Runs < mostWarmRuns; {
		plan, err := s.Explain(ctx, "analyze, timing off", sql)
		if err != nil {
			return err
		}
		k.Runs++
		now := KeptBy(plan)
		if now.Fed == 0 || now.Fed == last {
			break
		}
		last = now.Fed
		time.Sleep(100 * time.Millisecond) // the daemon copies what was captured
	}
	return s.Exec(ctx, "reset gpujoin.keep")
}

// WarmKept runs a query until its inputs are kept, in the forced mode and then in the
// planner's own, which may offload more once it knows what is kept. It returns the number
// of runs.
func WarmKept(ctx context.Context, s *harness.Session, sql string, modes ...string) (int, error) {
	k := &Kept{}
	for _, mode := range modes {
		if err := s.Exec(ctx, mode); err != nil {
			return k.Runs, err
		}
		if err := k.warm(ctx, s, sql); err != nil {
			return k.Runs, err
		}
		time.Sleep(publishing)
	}
	return k.Runs, nil
}

// String says in a few words what was kept.
func (k *Kept) String() string {
	switch {
	case k == nil:
		return "-"
	case k.Blocks+k.Fed == 0 && len(k.Why) == 0:
		return "no input"
	case k.Fed == 0 && len(k.Why) == 0:
		return "all"
	}
	return fmt.Sprintf("%d blocks; %s", k.Blocks, strings.Join(k.Why, ", "))
}
