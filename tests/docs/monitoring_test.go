package docs

import (
	"slices"
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
