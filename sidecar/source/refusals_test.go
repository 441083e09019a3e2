package source

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// refusalText finds the errors of refusals.go: SQLSTATE, message and, if there is one, hint.
var refusalText = regexp.MustCompile(`&Error\{SQLState: "(\w+)",\s*Message:\s*"((?:[^"\\]|\\.)*)"(?:,\s*Hint:\s*"((?:[^"\\]|\\.)*)")?`)

// docs/foreign-sources.md has a row for each refusal, and for no other error.
func TestRefusalsAreExplained(t *testing.T) {
	code, err := os.ReadFile("refusals.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/foreign-sources.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\w{5} \| [^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(string(page), -1) {
		rows[m[1]] = true
	}
	found := refusalText.FindAllStringSubmatch(string(code), -1)
	if len(found) != strings.Count(string(code), "&Error{") || len(found) < 30 {
		t.Fatalf("%d errors were found", len(found))
	}
	for _, m := range found {
		row := m[1] + " | " + m[2]
		if !rows[row] {
			t.Errorf("no row: %s", row)
		}
		delete(rows, row)
		if len(m[1]) != 5 || strings.HasSuffix(m[2], ".") {
			t.Errorf("%s: a SQLSTATE has five characters, a message no full stop", m[2])
		}
	}
	for row := range rows {
		t.Errorf("an error that there is not: %s", row)
	}
}
