// Package docs checks that the documentation says what the code does.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func all(pattern, text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// Every reason in reasons.c is explained in planner.md, and no other.
func TestReasons(t *testing.T) {
	code := all(`\[GJ_REJECT_\w+\] = \{"(\w+)"`, read(t, "fdw", "plan", "rejected", "reasons.c"))
	if len(code) < 10 {
		t.Fatalf("found only %d reasons in reasons.c", len(code))
	}
	_, section, ok := strings.Cut(read(t, "docs", "internals", "planner.md"), "## Why a join stays native")
	if !ok {
		t.Fatal("planner.md has no section on reasons")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, row := range all(`(?m)^\| ((?:`+"`"+`\w+`+"`"+`(?:, )?)+) \|`, section) {
		documented = append(documented, all("`(\\w+)`", row)...)
	}
	slices.Sort(code)
	slices.Sort(documented)
	if !slices.Equal(code, documented) {
		t.Errorf("reasons.c: %v\nplanner.md: %v", code, documented)
	}
}

// planner.md has every cost setting of options.c with its default.
func TestCosts(t *testing.T) {
	options := read(t, "fdw", "options.c")
	defaults := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^double\s+gj_(\w+_cost) = ([\d.]+);`).FindAllStringSubmatch(options, -1) {
		defaults["gpujoin."+m[1]] = m[2]
	}
	documented := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| ((?:`gpujoin\\.\\w+_cost`(?:, )?)+) \\| ([\\d., ]+) \\|")
	for _, m := range row.FindAllStringSubmatch(read(t, "docs", "internals", "planner.md"), -1) {
		values := strings.Split(m[2], ", ")
		for i, name := range all("`([^`]+)`", m[1]) {
			documented[name] = values[i]
		}
	}
	if len(defaults) < 8 {
		t.Fatalf("found only %d costs in options.c", len(defaults))
	}
	for name, value := range defaults {
		if documented[name] != value {
			t.Errorf("%s is %s, planner.md says %q", name, value, documented[name])
		}
	}
	if len(documented) != len(defaults) {
		t.Errorf("options.c has %d costs, planner.md %d", len(defaults), len(documented))
	}
}
