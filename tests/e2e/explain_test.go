package e2e

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// twoJoins has a join below another one.
const twoJoins = "select sum(f.id), sum(d.v), count(t.name) from fact f join dim d on f.k = d.k join tiny t on f.g = t.g"

// EXPLAIN ANALYZE divides the time of each join into phases.
func TestExplainPhases(t *testing.T) {
	w := theWorld(t)
	for _, workers := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			s := w.Session(t, forced, fmt.Sprintf("set max_parallel_workers_per_gather = %d", workers))
			nodes := explain(t, s, "analyze", twoJoins).OffloadJoins()
			if len(nodes) != 1 || len(nodes[0].Joins()) != 2 {
				t.Fatalf("not one OffloadJoin of two joins: %v", nodes)
			}
			for i, join := range nodes[0].Joins() {
				checkPhases(t, join, i == 1)
			}
		})
	}
	w.Unharmed(t, nil)
}

// checkPhases compares a join's phases with its time; only the topmost join of
// a job gathers payload.
func checkPhases(t *testing.T, join harness.Node, top bool) {
	t.Helper()
	total, gathers := 0.0, false
	for _, p := range join.Phases() {
		if p.Text("Name") == "" || p.Number("Actual Time") < 0 || p.Number("Predicted Time") < 0 {
			t.Errorf("phase %v", p)
		}
		total += p.Number("Actual Time")
		gathers = gathers || p.Text("Name") == "gather"
	}
	// Each number is rounded to a microsecond, and the sum is truncated.
	if n := len(join.Phases()); n < 2 || math.Abs(total-join.Number("Time")) > 0.001*float64(n+1) {
		t.Errorf("%d phases of %.3f ms, join of %v ms", n, total, join["Time"])
	}
	if gathers != top {
		t.Errorf("gathers is %v: %v", gathers, join.Phases())
	}
}

// With timing on, each join shows its phases once, in every format and with any
// number of processes.
func TestExplainTiming(t *testing.T) {
	w := theWorld(t)
	line := regexp.MustCompile(`(?m)^ +Phase [a-z ]+: (predicted \d+\.\d{3} ms, )?actual \d+\.\d{3} ms$`)
	for _, workers := range []int{0, 2} {
		s := w.Session(t, forced, fmt.Sprintf("set max_parallel_workers_per_gather = %d", workers))
		for options, want := range map[string]bool{
			"": false, "verbose": false, "analyze": true, "analyze, summary off": true,
			"analyze, timing off": false, "analyze, timing off, summary on": false,
		} {
			for format, phase := range map[string]string{
				"text": "Phase match:", "json": `"Name": "match"`, "xml": "<Name>match</Name>", "yaml": `Name: "match"`,
			} {
				all := strings.Join(query(t, s, "explain ("+strings.TrimPrefix(options+", format ", ", ")+format+") "+twoJoins).Rows, "\n")
				phases := 2
				if !want {
					phases = 0
				}
				if n := strings.Count(all, phase); n != phases {
					t.Errorf("explain (%s, format %s) with %d workers: %d phases of matching instead of %d\n%s", options, format, workers, n, phases, all)
				}
				if n := len(line.FindAllString(all, -1)); format == "text" && n != strings.Count(all, "Phase") {
					t.Errorf("%d lines of phases:\n%s", n, all)
				}
			}
		}
	}
	w.Unharmed(t, nil)
}

// EXPLAIN without ANALYZE needs no daemon: a plan made while the daemon lived
// is shown in the same way after its end.
func TestExplainAsksNobody(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, forced, "set plan_cache_mode = force_generic_plan; prepare p as "+twoJoins)
	const statement = "explain (verbose) execute p"
	want := query(t, s, statement).Rows
	if err := w.Daemon.Kill(); err != nil {
		t.Fatal(err)
	}
	got := query(t, s, statement).Rows
	if !slices.Equal(got, want) || !strings.Contains(strings.Join(got, "\n"), "OffloadJoin") {
		t.Errorf("%q\n%q", want, got)
	}
}

// EXPLAIN ANALYZE shows the purpose of each plan below an OffloadJoin: all but the
// last feed inputs, and the last is the native plan. Without ANALYZE there is
// no native plan, but the inputs are named.
func TestExplainChildren(t *testing.T) {
	w := theWorld(t)
	for _, workers := range []int{0, 2} {
		s := w.Session(t, forced, fmt.Sprintf("set max_parallel_workers_per_gather = %d", workers))
		node := explain(t, s, "analyze", twoJoins).OffloadJoins()[0]
		var want []any
		for _, i := range node.Inputs() {
			want = append(want, "feed of "+i.Text("Alias"))
		}
		want = append(want, "native plan")
		got, _ := node["Children"].([]any)
		if len(want) != 4 || !slices.Equal(got, want) || len(node.Children()) != len(want) {
			t.Errorf("%d plans below, called %q instead of %q", len(node.Children()), got, want)
		}
		for i, c := range node.Children()[:3] {
			if feed := "feed of " + c.Text("Alias"); feed != want[i] {
				t.Errorf("%q is called %q", feed, want[i])
			}
		}
		if loops := node.Children()[3].Number("Actual Loops"); loops != 0 {
			t.Errorf("the native plan ran: %v", node.Children()[3])
		}
		if plain := explain(t, s, "", twoJoins).OffloadJoins()[0]; plain["Children"] != nil || len(plain.Children()) != 3 {
			t.Errorf("without ANALYZE: %v", plain)
		}
		for format, item := range map[string]string{
			"text": ", native plan\n", "xml": "<Item>native plan</Item>", "yaml": `- "native plan"`,
		} {
			all := strings.Join(query(t, s, "explain (analyze, format "+format+") "+twoJoins).Rows, "\n")
			if strings.Count(all, item) != 1 {
				t.Errorf("no %q in\n%s", item, all)
			}
		}
	}
	w.Unharmed(t, nil)
}
