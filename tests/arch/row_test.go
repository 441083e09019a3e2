package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The path of one row through the code names functions that exist.
func TestWayOfARow(t *testing.T) {
	root, _ := load(t)
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## The path of one row")
	if !ok {
		t.Fatal("ARCHITECTURE.md does not say which way a row goes")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	steps := regexp.MustCompile("(?m)^(\\d+)\\. `([^:`]+): (\\w+)`").FindAllStringSubmatch(section, -1)
	if len(steps) < 10 {
		t.Fatalf("%d steps", len(steps))
	}
	for i, step := range steps {
		if step[1] != strconv.Itoa(i+1) {
			t.Errorf("step %s is number %d", step[1], i+1)
		}
		source, err := os.ReadFile(filepath.Join(root, step[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		definition := `(?m)^` + step[3] + `\(` // C: the name begins a line
		if strings.HasSuffix(step[2], ".go") {
			definition = `(?m)^func (\([^)]*\) )?` + step[3] + `\(`
		}
		if !regexp.MustCompile(definition).Match(source) {
			t.Errorf("step %s: %s does not define %s", step[1], step[2], step[3])
		}
	}
}
