package regress

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
var plan = regexp.MustCompile(`^(->|[A-Z][A-Za-z -]+:|Participant |Custom Scan|Hash|Nested Loop|Merge|Seq Scan|Index|Append|` +
	`Gather|Aggregate|GroupAggregate|MixedAggregate|Sort|Incremental Sort|Limit|Result|Finalize|Partial|Unique|Materialize|Memoize|` +
	`Group$|SubPlan|InitPlan|Bitmap|WindowAgg|ProjectSet|QUERY PLAN|Update on|Delete on|Insert on|LockRows|CTE|Subquery|\(\d+ rows?\)$|-*$)`)

// tolerated are tests whose results may differ, with the reasons.
var tolerated = map[string]string{
	"regress/join_hash": "its functions return what EXPLAIN says of hash joins",
	"regress/stats":     "rows and blocks that are kept are not read, and are not counted as read",
}

// compare compares the results of both modes, prints what differs, and adds to
// the report.
func compare(s *suite, r *report) error {
	files, err := filepath.Glob(filepath.Join(s.results(without), "*.out"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no results in %s: %v", s.results(without), err)
	}
	for _, path := range files {
		name := s.name + "/" + strings.TrimSuffix(filepath.Base(path), ".out")
		want, err := rows(path)
		if err != nil {
			return err
		}
		got, err := rows(filepath.Join(s.results(forced), filepath.Base(path)))
		if err != nil {
			return err
		}
		switch {
		case slices.Equal(want, got):
			r.Passed++
		case tolerated[name] != "":
			fmt.Printf("%s differs: %s\n", name, tolerated[name])
			r.Tolerated[name] = tolerated[name]
		default:
			r.Unexplained++
			fmt.Printf("%s differs:\n%s", name, difference(want, got))
		}
	}
	return nil
}

// rows returns the lines of a result file without plans, as a sorted multiset, because
// offloaded joins have no order.
func rows(path string) (lines []string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if !plan.MatchString(line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines, nil
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
