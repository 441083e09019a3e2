package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

func lines(t *testing.T, path ...string) []string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data), "\n")
}

// An image's build gets what git keeps: no file that a build on this machine made.
func TestDockerignore(t *testing.T) {
	var want []string
	for _, pattern := range lines(t, ".gitignore") {
		if pattern == "" {
			continue
		}
		if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") { // of any directory
			pattern = "**/" + pattern
		}
		want = append(want, strings.Trim(pattern, "/"))
	}
	var got []string
	for _, pattern := range lines(t, ".dockerignore") {
		if pattern != "" && !strings.HasPrefix(pattern, "#") {
			got = append(got, pattern)
		}
	}
	if slices.Sort(want); len(want) < 5 {
		t.Fatalf(".gitignore has only %q", want)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf(".dockerignore has %q, .gitignore %q", got, want)
	}
}

// The Dockerfile and the page on installation show the same commands.
func TestContainerCommands(t *testing.T) {
	command := regexp.MustCompile(`^(?:#   )?(docker (?:build|run) .*)$`)
	commands := func(path ...string) (list []string) {
		for _, line := range lines(t, path...) {
			if m := command.FindStringSubmatch(line); m != nil {
				list = append(list, m[1])
			}
		}
		return list
	}
	inPage, inFile := commands("docs", "install.md"), commands("packaging", "container", "Dockerfile")
	if len(inPage) != 2 || !slices.Equal(inPage, inFile) {
		t.Errorf("install.md has %q, the Dockerfile %q", inPage, inFile)
	}
}
