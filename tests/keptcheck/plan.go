package keptcheck

import (
	"encoding/json"
	"strings"

	"gpujoin/tests/harness"
)

// plan is what an executed plan says of its jobs.
type plan struct {
	jobs, executed            int
	kept, proved, fed, stored float64 // blocks
	fallbacks                 []string
	nodes                     []harness.Node
}

// plansOf returns the sum of the plans that auto_explain has logged.
func plansOf(notices []string) (p plan) {
	for _, notice := range notices {
		if node := harness.LoggedPlan(notice); node != nil {
			p.add(node)
		}
	}
	return p
}

func (p *plan) add(node harness.Node) {
	p.nodes = append(p.nodes, node)
	for _, job := range node.Jobs() {
		p.jobs++
		if job.Text("Fallback") == "" && job.Text("Provider") != "" {
			p.executed++
		}
		for _, input := range job.Inputs() {
			p.kept += input.Number("Blocks Kept")
			p.proved += input.Number("Blocks Proved")
			p.fed += input.Number("Blocks Fed")
			p.stored += input.Number("Blocks Captured")
		}
	}
	node.All(func(n harness.Node) bool {
		if reason := n.Text("Fallback"); reason != "" {
			p.fallbacks = append(p.fallbacks, reason)
		}
		return true
	})
}

// String returns the plans as JSON.
func (p *plan) String() string {
	text, err := json.MarshalIndent(p.nodes, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// fault returns a fallback that shows a defect, "" if there is none.
func (p *plan) fault() string {
	for _, reason := range p.fallbacks {
		for _, sign := range []string{"internal", "malformed", "violat", "unexpected"} {
			if strings.Contains(reason, sign) {
				return reason
			}
		}
	}
	return ""
}
