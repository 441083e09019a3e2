package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// security.md names the settings that only superusers can change.
func TestSuperusersSettings(t *testing.T) {
	var code []string
	for _, definition := range strings.Split(read(t, "fdw", "options.c"), "DefineCustom")[1:] {
		definition, _, _ = strings.Cut(definition, ");")
		if strings.Contains(definition, "PGC_SUSET") {
			code = append(code, all(`"(gpujoin\.\w+)"`, definition)[0])
		}
	}
	row := regexp.MustCompile(`(?m)^\| settings \|.*superusers only.*$`).FindString(read(t, "docs", "security.md"))
	documented := all("`(gpujoin\\.\\w+)`", row)
	slices.Sort(code)
	slices.Sort(documented)
	if len(code) < 3 || !slices.Equal(code, documented) {
		t.Errorf("options.c: %v\nsecurity.md: %v", code, documented)
	}
}

// The exposure of the service that security.md promises is the one that a test of the units
// permits, which systemd-analyze takes in tenths.
func TestExposure(t *testing.T) {
	permitted := all(`"--threshold=(\d+)"`, read(t, "tests", "packaging", "systemd_test.go"))
	promised := all(`at most\s+(\d\.\d) of 10`, read(t, "docs", "security.md"))
	if len(permitted) != 1 || len(promised) != 1 || permitted[0] != strings.ReplaceAll(promised[0], ".", "") {
		t.Errorf("permitted: %v, promised: %v", permitted, promised)
	}
}

// The quick start shows the checks of gpujoind check, in their order. It was made on a machine without
// a GPU, where there are no strategies and methods to show.
func TestChecksShown(t *testing.T) {
	code := all(`(?m)^\t\t\{"([\w ]+)", (?:check|func)`, read(t, "sidecar", "cli", "check.go"))
	code = slices.DeleteFunc(code, func(name string) bool { return name == "strategies" || name == "transfer methods" })
	shown := all(`(?m)^(\w+(?: \w+)?) +ok  `, read(t, "docs", "quickstart.md"))
	if len(code) < 8 || !slices.Equal(code, shown) {
		t.Errorf("check.go: %v\nquickstart.md: %v", code, shown)
	}
}
