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

// Every reason in reasons.c has a row with a remedy in troubleshooting.md, and no other has.
func TestReasons(t *testing.T) {
	code := all(`\[GJ_REJECT_\w+\] = \{"(\w+)"`, read(t, "fdw", "plan", "rejected", "reasons.c"))
	compareReasons(t, "## Why a join stays native\n", code, 40)
}

// So has every reason for which the daemon refuses or fails a job.
func TestReasonsOfTheDaemon(t *testing.T) {
	_, names, _ := strings.Cut(read(t, "shm", "bodies.go"), "failureNames = [...]string{")
	names, _, _ = strings.Cut(names, "}")
	compareReasons(t, "### Reasons of the daemon\n", all(`"(\w+)"`, names), 9)
}

func compareReasons(t *testing.T, heading string, code []string, least int) {
	t.Helper()
	page := read(t, "docs", "troubleshooting.md")
	documented := firstCells(page, heading)
	slices.Sort(code)
	slices.Sort(documented)
	if len(code) < least || !slices.Equal(code, documented) {
		t.Errorf("%s\ncode: %v\npage: %v", heading, code, documented)
	}
	_, table, _ := strings.Cut(page, "\n"+heading)
	for _, row := range all(`(?m)^(\| .*)$`, table) {
		if cells := strings.Split(row, " | "); len(cells) < 3 || len(strings.Trim(cells[2], " |")) < 4 {
			t.Errorf("a row without a remedy: %s", row)
		}
		if !strings.Contains(table, row+"\n|") { // the last one
			break
		}
	}
}

// Every text that the extension gives as a fallback begins with one of those in
// troubleshooting.md, and each of these with a text.
func TestFallbacks(t *testing.T) {
	documented := firstCells(read(t, "docs", "troubleshooting.md"), "## Texts of `Fallback`\n")
	used := map[string]bool{}
	for _, text := range fallbackTexts(t) {
		i := slices.IndexFunc(documented, func(beginning string) bool { return strings.HasPrefix(text, beginning) })
		if i < 0 {
			t.Errorf("troubleshooting.md does not explain %q", text)
			continue
		}
		used[documented[i]] = true
	}
	for _, beginning := range documented {
		if !used[beginning] {
			t.Errorf("no fallback begins with %q", beginning)
		}
	}
}

// fallbackTexts returns the formats of all fallbacks that the extension words itself.
func fallbackTexts(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, from := range []struct{ folder, pattern string }{
		{"fdw", `\bgj_fail(?:_by)?\([^;"]*"([^"]+)"`},              // of a connection
		{"fdw/daemon", `\[GJ_FAULT_\w+\] = "([^"]+)"`},             // of the breaker
		{"fdw/exec", `\bgo_native\(state, "([^"]+)"`},              // of a choice
		{"fdw/exec", `\b(?:unfit =|return) "([a-z][^"]+ [^"]+)";`}, // of parameters
		{"fdw/plan", `psprintf\("(internal: [^"]*)"`},              // of a defect of the planner
	} {
		found := 0
		for _, source := range append(sources(t, from.folder, ".c"), sources(t, from.folder, ".h")...) {
			for _, text := range all(from.pattern, source) {
				if strings.HasPrefix(text, "%") { // another one's words
					continue
				}
				texts = append(texts, text)
				found++
			}
		}
		if found == 0 {
			t.Errorf("nothing matches %s", from.pattern)
		}
	}
	return texts
}

// sources returns the texts of all files below a folder whose names end so, but those of tests.
func sources(t *testing.T, folder, ending string) []string {
	t.Helper()
	var out []string
	root := filepath.Join("..", "..", folder)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ending) && !strings.HasSuffix(path, "_test.go") {
			rest, _ := filepath.Rel(root, path)
			out = append(out, read(t, folder, rest))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
