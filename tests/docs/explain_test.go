package docs

import (
	"strings"
	"testing"
)

// explain.md names every property that the extension adds to EXPLAIN.
func TestExplainProperties(t *testing.T) {
	page := read(t, "docs", "explain.md")
	seen := map[string]bool{}
	for _, folder := range []string{"fdw/explain", "fdw/foreign"} {
		for _, source := range sources(t, folder, ".c") {
			for _, pattern := range []string{
				`\bExplainProperty\w+\("([^"]+)"`,
				`\bExplainOpenGroup\("[^"]+", "([^"]+)"`,
				`\bput_\w+\(es, [^;]*?"[^"]*", "([^"]+)"`,
				`\bput_\w+\(es, [^;"]*\? "[^"]*" : "[^"]*", "([^"]+)"`,
				`\bexplain_condition\(names, "([^"]+)"`,
				`\bplan->promised \? "([A-Z][^"]+)"`,
				`\bplan->promised \? "[A-Z][^"]+" : "([^"]+)"`,
			} {
				for _, label := range all(pattern, source) {
					seen[label] = true
				}
			}
		}
	}
	for label := range seen {
		if !strings.Contains(page, "`"+label+"`") {
			t.Errorf("explain.md does not name %s", label)
		}
	}
	if len(seen) < 55 {
		t.Errorf("found only %d properties", len(seen))
	}
}
