package columnar

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	asked   = regexp.MustCompile(`"(gj_[a-z0-9_%]+)"`)
	defined = regexp.MustCompile(`\bgj_[a-zA-Z0-9_#]+`)
	number  = regexp.MustCompile(`%d|##[A-Z]+(?:##)?`)
)

// Every kernel that these joins request by name exists in the source of their module.
func TestKernelsAreThere(t *testing.T) {
	source, err := os.ReadFile("../kernels/entry/sort.cu")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, name := range defined.FindAllString(string(source), -1) {
		there[number.ReplaceAllString(name, "N")] = true
	}
	names := 0
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(string(text), -1) {
			names++
			if !there[number.ReplaceAllString(m[1], "N")] {
				t.Errorf("%s asks for %s, which kernels/entry/sort.cu has not", file, m[1])
			}
		}
	}
	if names < 10 {
		t.Errorf("%d names were found", names)
	}
}
