package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// firstScreen is the number of lines of the README that a reader sees before he decides.
const firstScreen = 80

// The README answers the questions of readme-questions.md, each in the section that the page
// links to, on its first screen.
func TestReadmeAnswers(t *testing.T) {
	sections := sectionsOf(read(t, "README.md"))
	release := strings.TrimSpace(read(t, "version", "VERSION"))
	row := regexp.MustCompile(`(?m)^\| (.+\?) \| \[[^\]]+\]\(\.\./\.\./README\.md#([\w-]+)\) \| (.+) \|$`)
	questions := row.FindAllStringSubmatch(read(t, "docs", "internals", "readme-questions.md"), -1)
	if len(questions) < 15 {
		t.Fatalf("found only %d questions", len(questions))
	}
	for _, q := range questions {
		section, ok := sections[q[2]]
		if !ok {
			t.Errorf("%s the first %d lines of the README have no section #%s", q[1], firstScreen, q[2])
			continue
		}
		words := all("`([^`]+)`", q[3])
		if len(words) == 0 {
			t.Errorf("%s any section would answer it", q[1])
		}
		for _, word := range words {
			if word == "VERSION" {
				word = release
			}
			if !strings.Contains(section, word) {
				t.Errorf("%s the section #%s of the README does not say %q", q[1], q[2], word)
			}
		}
	}
}

// sectionsOf returns the sections of the first screen by their anchors. Line breaks are
// blanks, so that words are found that a line break separates.
func sectionsOf(page string) map[string]string {
	lines := strings.Split(page, "\n")
	lines = lines[:min(len(lines), firstScreen)]
	sections := map[string]string{}
	anchor, code := "", false
	for _, line := range lines {
		code = code != strings.HasPrefix(line, "```")
		if heading := strings.TrimLeft(line, "#"); !code && heading != line {
			anchor = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(heading)), " ", "-")
		}
		sections[anchor] += line + " "
	}
	return sections
}

// The README names the versions of PostgreSQL that testing.md says are tested, and the pages on
// installation and limits the first and the last of them.
func TestReadmeVersions(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs", "internals", "testing.md"), "| version | server |")
	var tested []string
	for _, row := range all(`(?m)^\| (\d\d(?:, \d\d)*)[; ]`, section) {
		tested = append(tested, strings.Split(row, ", ")...)
	}
	slices.Sort(tested)
	if len(tested) < 3 {
		t.Fatalf("testing.md has the versions %v", tested)
	}
	row := strings.Join(all(`(?m)^\| PostgreSQL \| ([^|]*) with superuser`, read(t, "README.md")), " ")
	if named := all(`(\d\d)`, row); !slices.Equal(named, tested) {
		t.Errorf("the README names the versions %v, tested are %v", named, tested)
	}
	span := tested[0] + " to " + tested[len(tested)-1]
	for _, page := range []string{"install.md", "limitations.md"} {
		if !strings.Contains(read(t, "docs", page), span) {
			t.Errorf("%s does not say that PostgreSQL %s are supported", page, span)
		}
	}
}
