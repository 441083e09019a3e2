package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Node is a node of EXPLAIN (FORMAT JSON) with all of its properties.
type Node map[string]any

// Explain returns the plan's top node. options are further EXPLAIN options,
// such as "analyze, timing off".
func (s *Session) Explain(ctx context.Context, options, sql string) (Node, error) {
	if options != "" {
		options += ", "
	}
	r, err := s.Query(ctx, "explain ("+options+"format json) "+sql)
	if err != nil {
		return nil, err
	}
	text := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(strings.Join(r.Rows, "\n"))
	var plans []struct{ Plan Node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		return nil, fmt.Errorf("explain: %w\n%s", err, text)
	}
	if len(plans) != 1 {
		return nil, fmt.Errorf("explain: %d plans", len(plans))
	}
	return plans[0].Plan, nil
}

// LoggedPlan returns the plan that a notice of auto_explain contains in JSON,
// nil if the notice is another one.
func LoggedPlan(notice string) Node {
	_, text, found := strings.Cut(notice, "plan:\n")
	var logged struct{ Plan Node }
	if !found || json.Unmarshal([]byte(text), &logged) != nil {
		return nil
	}
	return logged.Plan
}

// PlanningTime returns the planning time of a statement in microseconds.
func (s *Session) PlanningTime(ctx context.Context, sql string) (float64, error) {
	r, err := s.Query(ctx, "explain (summary) "+sql)
	if err != nil {
		return 0, err
	}
	for _, line := range r.Rows {
		var ms float64
		if n, _ := fmt.Sscanf(line, "Planning Time: %f ms", &ms); n == 1 {
			return ms * 1000, nil
		}
	}
	return 0, fmt.Errorf("explain: no planning time in %q", r.Rows)
}

// group returns a property that is a list of objects.
func (n Node) group(property string) []Node {
	list, _ := n[property].([]any)
	var nodes []Node
	for _, p := range list {
		if m, ok := p.(map[string]any); ok {
			nodes = append(nodes, Node(m))
		}
	}
	return nodes
}

// Participants returns the participants of an executed OffloadJoin.
func (n Node) Participants() []Node { return n.group("Participants") }

// Joins returns the joins of an OffloadJoin, in post-order.
func (n Node) Joins() []Node { return n.group("Joins") }

// Phases returns the phases of an executed join.
func (n Node) Phases() []Node { return n.group("Phases") }

// Inputs returns the inputs of an OffloadJoin.
func (n Node) Inputs() []Node { return n.group("Inputs") }

// KeyFilters returns the filters of an input of the node.
func (n Node) KeyFilters() []Node { return n.group("Key Filters") }

// FedBy reports whether all inputs of an OffloadJoin are fed by the given kind of feed.
func (n Node) FedBy(kind string) bool {
	for _, input := range n.Inputs() {
		if input.Text("Feed") != kind {
			return false
		}
	}
	return true
}

// Algorithms returns the algorithms of an OffloadJoin's executed joins, in post-order.
func (n Node) Algorithms() []string {
	var names []string
	for _, j := range n.Joins() {
		if a := j.Text("Algorithm"); a != "" {
			names = append(names, a)
		}
	}
	return names
}

// Children returns the child nodes, including init plans and subplans.
func (n Node) Children() []Node {
	return n.group("Plans")
}

// All visits the node and all below it.
func (n Node) All(yield func(Node) bool) bool {
	if !yield(n) {
		return false
	}
	for _, c := range n.Children() {
		if !c.All(yield) {
			return false
		}
	}
	return true
}

// Text returns a property as text, "" if there is none.
func (n Node) Text(property string) string {
	if n[property] == nil {
		return ""
	}
	return fmt.Sprint(n[property])
}

// Number returns a property as a number, 0 if there is none.
func (n Node) Number(property string) float64 {
	v, _ := n[property].(float64)
	return v
}

// Jobs returns the nodes of a plan that have a job: OffloadJoins, and OffloadBlocks or
// the OffloadFeeds below them. It includes those that feed others, and excludes
// native plans.
func (n Node) Jobs() []Node {
	var found []Node
	children := n.Children()
	switch n.Text("Custom Plan Provider") {
	case "OffloadJoin", "OffloadFeed":
		found = append(found, n)
		children = children[:min(len(children), len(n.Inputs()))]
	case "OffloadBlock":
		if len(n.Inputs()) > 0 {
			found = append(found, n)
		}
		children = children[:min(len(children), max(len(n.Inputs()), 1))]
	}
	for _, c := range children {
		found = append(found, c.Jobs()...)
	}
	return found
}

// OffloadJoins returns the OffloadJoin nodes among the Jobs.
func (n Node) OffloadJoins() []Node {
	return slices.DeleteFunc(n.Jobs(), Node.isBlock)
}

func (n Node) isBlock() bool { return n.Text("Custom Plan Provider") != "OffloadJoin" }

// OffloadedJoins counts the joins of an analyzed plan that the daemon executed.
// It excludes nodes that fell back and nodes that were never run.
func (n Node) OffloadedJoins() int {
	executed := 0
	for _, g := range n.Jobs() {
		if g.Text("Fallback") == "" {
			executed += len(g.Algorithms())
		}
	}
	return executed
}

// OffloadedBlocks counts the query blocks of an analyzed plan that the daemon
// executed.
func (n Node) OffloadedBlocks() int {
	executed := 0
	for _, g := range n.Jobs() {
		if g.isBlock() && g.Text("Fallback") == "" && g.Text("Provider") != "" {
			executed++
		}
	}
	return executed
}
