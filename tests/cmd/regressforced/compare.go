package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// plan matches the lines of EXPLAIN, which differ if a join is offloaded, and
// the rulers, whose width is that of the widest row.
var plan = regexp.MustCompile(`^(->|[A-Z][A-Za-z ]+:|Participant |Custom Scan|Hash|Nested Loop|Merge|Seq Scan|Index|Append|` +
	`Gather|Aggregate|GroupAggregate|MixedAggregate|Sort|Incremental Sort|Limit|Result|Finalize|Partial|Unique|Materialize|Memoize|` +
	`SubPlan|InitPlan|Bitmap|WindowAgg|ProjectSet|QUERY PLAN|Update on|Delete on|Insert on|LockRows|CTE|Subquery|\(\d+ rows?\)$|-*$)`)

// aboutPlans are tests whose queries return properties of plans.
var aboutPlans = map[string]string{
	"join_hash.out": "its functions return what EXPLAIN says of hash joins",
}

// compare prints the files whose rows differ and returns their number.
func compare(without, forced string) (failed int, err error) {
	files, err := filepath.Glob(filepath.Join(without, "*.out"))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no results in %s: %v", without, err)
	}
	offloading, passed := 0, 0
	for _, path := range files {
		name := filepath.Base(path)
		want, _, err := rows(path)
		if err != nil {
			return 0, err
		}
		got, plans, err := rows(filepath.Join(forced, name))
		if err != nil {
			return 0, err
		}
		if plans {
			offloading++
		}
		switch {
		case slices.Equal(want, got):
			passed++
		case aboutPlans[name] != "":
			fmt.Printf("%s is not compared: %s\n", name, aboutPlans[name])
		default:
			failed++
			fmt.Printf("%s differs:\n%s", name, difference(want, got))
		}
	}
	fmt.Printf("%d files show a GpuJoin in a plan\n", offloading)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if offloading == 0 {
		return 0, fmt.Errorf("nothing was offloaded")
	}
	return failed, nil
}

// rows returns the lines of a result file without plans, as a sorted multiset, because
// offloaded joins have no order. plans: a GpuJoin was among the plans.
func rows(path string) (lines []string, plans bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		plans = plans || strings.Contains(line, "(GpuJoin)")
		if !plan.MatchString(line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines, plans, nil
}

// difference returns the first lines that only one side has.
func difference(want, got []string) string {
	var text strings.Builder
	shown := 0
	for i, j := 0, 0; (i < len(want) || j < len(got)) && shown < 20; {
		switch {
		case j == len(got) || (i < len(want) && want[i] < got[j]):
			fmt.Fprintf(&text, "  - %s\n", want[i])
			i++
			shown++
		case i == len(want) || want[i] > got[j]:
			fmt.Fprintf(&text, "  + %s\n", got[j])
			j++
			shown++
		default:
			i++
			j++
		}
	}
	return text.String()
}
