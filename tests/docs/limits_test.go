package docs

import (
	"slices"
	"testing"
)

// The extension and job.md know the daemon's limit of nesting.
func TestNesting(t *testing.T) {
	daemon := all(`(?m)^\s+MaxDepth\s+= (\d+)$`, read(t, "joincore", "planjson", "job.go"))
	extension := all(`(?m)^#define MAX_LEVELS (\d+)$`, read(t, "fdw", "plan", "expr", "write.c"))
	documented := all(`nesting deeper than\s+(\d+)`, read(t, "docs", "internals", "job.md"))
	if len(daemon) != 1 || !slices.Equal(daemon, extension) || !slices.Equal(daemon, documented) {
		t.Errorf("the daemon: %v, the extension: %v, job.md: %v", daemon, extension, documented)
	}
}
