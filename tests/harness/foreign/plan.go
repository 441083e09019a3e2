package foreign

import (
	"fmt"
	"regexp"
	"strings"

	"gpujoin/tests/harness"
)

// Plan is what plans say of foreign tables.
type Plan struct {
	Mirrored, Direct int // tables
	Jobs             int // that the daemon executed, of joins and blocks
	Position         uint64
	Positions        int      // different ones
	Reasons          []string // of direct reads
	Fallbacks        []string
	Nodes            []harness.Node
}

// PlansOf returns the sum of the plans that auto_explain has logged.
func PlansOf(notices []string) (p Plan) {
	for _, notice := range notices {
		if node := harness.LoggedPlan(notice); node != nil {
			p.Add(node)
		}
	}
	return p
}

// Add adds a plan's top node.
func (p *Plan) Add(node harness.Node) {
	p.Nodes = append(p.Nodes, node)
	node.All(func(n harness.Node) bool {
		if reason := n.Text("Fallback"); reason != "" {
			p.Fallbacks = append(p.Fallbacks, reason)
		}
		return true
	})
	p.visit(node)
	for _, job := range node.Jobs() {
		if job.Text("Provider") != "" && job.Text("Fallback") == "" {
			p.Jobs++
		}
	}
}

// visit counts the foreign tables of a node and those below it, each once: the inputs of jobs,
// and the scans of the plans that were executed.
func (p *Plan) visit(n harness.Node) {
	children, inputs := n.Children(), n.Inputs()
	switch n.Text("Custom Plan Provider") {
	case "OffloadJoin", "OffloadBlock", "OffloadFeed":
		// The first children feed inputs; the last one is the native plan.
		if n.Text("Fallback") != "" {
			children = children[min(len(children), len(inputs)):]
			break
		}
		for _, input := range inputs {
			p.table(input)
		}
		feeds := len(inputs)
		if n.Text("Custom Plan Provider") == "OffloadBlock" {
			feeds = max(feeds, 1)
		}
		feeding := children[:min(len(children), feeds)]
		children = nil
		for i, c := range feeding { // the scan of a mirror is not executed
			if i >= len(inputs) || inputs[i].Text("Feed") != "mirror" {
				children = append(children, c)
			}
		}
	default:
		p.table(n)
	}
	for _, c := range children {
		p.visit(c)
	}
}

var lsn = regexp.MustCompile(`\b([0-9A-F]{1,8})/([0-9A-F]{1,8})\b`)

// table reads the properties of a foreign table: of its scan, or of an input of a job.
func (p *Plan) table(n harness.Node) {
	if reason := n.Text("Direct"); reason != "" {
		p.Direct++
		p.Reasons = append(p.Reasons, reason)
		return
	}
	m := lsn.FindStringSubmatch(n.Text("Mirror") + " " + n.Text("Mirror Position"))
	if m == nil {
		return
	}
	p.Mirrored++
	var high, low uint64
	if _, err := fmt.Sscanf(m[1]+" "+m[2], "%x %x", &high, &low); err != nil {
		return
	}
	if at := high<<32 | low; at != p.Position {
		p.Position = at
		p.Positions++
	}
}

// Fault returns a fallback that shows a defect, "" if there is none.
func (p *Plan) Fault() string {
	for _, reason := range p.Fallbacks {
		for _, sign := range []string{"internal", "malformed", "violat", "unexpected message"} {
			if strings.Contains(reason, sign) {
				return reason
			}
		}
	}
	return ""
}
