package docs

import (
	"slices"
	"strings"
	"testing"
)

// monitoring.md explains every wait event, and no other.
func TestWaitEventNames(t *testing.T) {
	code := all(`\[GJ_EVENT_\w+\] = "(\w+)"`, read(t, "fdw", "daemon", "wait_event.c"))
	documented := firstCells(read(t, "docs", "monitoring.md"), "## Wait events\n")
	if len(code) < 5 || !slices.Equal(code, documented) {
		t.Errorf("wait_event.c: %v\nmonitoring.md: %v", code, documented)
	}
}

// monitoring.md explains every warning and error of the daemon's log, and no other.
func TestLogMessages(t *testing.T) {
	documented := firstCells(read(t, "docs", "monitoring.md"), "## Messages of the daemon\n")
	used := map[string]bool{}
	for _, source := range sources(t, "sidecar", ".go") {
		for _, message := range all(`\w\.(?:Warn|Error)\("([^"]+)"`, source) {
			i := slices.IndexFunc(documented, func(beginning string) bool { return strings.HasPrefix(message, beginning) })
			if i < 0 {
				t.Errorf("monitoring.md does not explain %q", message)
				continue
			}
			used[documented[i]] = true
		}
	}
	for _, beginning := range documented {
		if !used[beginning] {
			t.Errorf("no message begins with %q", beginning)
		}
	}
}

// views.md explains every state of jobs that the daemon reports.
func TestJobStates(t *testing.T) {
	_, names, _ := strings.Cut(read(t, "sidecar", "metrics", "collector.go"), "jobStates    = []string{")
	names, _, _ = strings.Cut(names, "}")
	code, page := all(`"(\w+)"`, names), read(t, "docs", "views.md")
	for _, state := range code {
		if !strings.Contains(page, "`"+state+"`") && state != "queued" { // those are only counted
			t.Errorf("views.md lacks the state %s", state)
		}
	}
	if len(code) < 5 {
		t.Errorf("found only %v", code)
	}
}
