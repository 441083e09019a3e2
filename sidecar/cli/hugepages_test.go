package cli

import (
	"regexp"
	"strings"
	"testing"
)

// TestHugePages: what `gpujoind check` says of the huge pages that a server could use.
func TestHugePages(t *testing.T) {
	meminfo := func(total, free, promised string) string {
		return "MemTotal:       24683736 kB\nHugePages_Total:       " + total + "\nHugePages_Free:        " + free +
			"\nHugePages_Rsvd:        " + promised + "\nHugePages_Surp:        0\nHugepagesize:       2048 kB\n"
	}
	for text, want := range map[string]string{
		meminfo("0", "0", "0"):            "^none are reserved, .*docs/operating.md",
		meminfo("1200", "1200", "0"):      "^1200 of 2048 kB are reserved, and no process uses one; .*huge_pages = on",
		meminfo("1200", "1200", "1100"):   "^1100 of 1200, of 2048 kB each, are in use",
		meminfo("1200", "300", "200"):     "^1100 of 1200, of 2048 kB each, are in use",
		"MemTotal:       24683736 kB\n\n": "^none are reserved",
	} {
		h, err := readHugePages(strings.NewReader(text))
		if err != nil || !regexp.MustCompile(want).MatchString(h.String()) {
			t.Errorf("%q: %q, %v; want %q", text, h, err, want)
		}
	}
	if _, err := readHugePages(strings.NewReader("HugePages_Total: many\n")); err == nil {
		t.Error("a number that is none is accepted")
	}
	if _, out := gpujoind("check", "--socket", t.TempDir()+"/s", "--provider", "cpu"); !regexp.MustCompile(`(?m)^huge pages +ok `).MatchString(out) {
		t.Errorf("no line on huge pages in:\n%s", out)
	}
}
