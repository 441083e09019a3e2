package sidecar

import (
	"strings"
	"testing"
)

// TestLimits: the daemon creates no more extents than leave it descriptors and mappings.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits
		budget int64
		most   int
		want   string // in the check's error; "": none
	}{
		"enough":        {limits{1 << 20, 1 << 20}, 200 << 30, 1 << 19, ""},
		"few files":     {limits{1024, 1 << 20}, 8 << 30, 1024 - 256 - 64, "1024 open files are allowed"},
		"few mappings":  {limits{1 << 20, 65530}, 200 << 30, 32765, "allows 65530 mappings"},
		"hardly any":    {limits{16, 6}, 16 << 20, 4, "16 open files"},
		"just mappings": {limits{1 << 20, 65530}, 32765 * 4 << 20, 32765, ""},
	} {
		if n := c.maxExtents(1024); n != c.most {
			t.Errorf("%s: %d extents instead of %d", name, n, c.most)
		}
		_, err := c.check(c.budget, 4<<20, 1024)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
