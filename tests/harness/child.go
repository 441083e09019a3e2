package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ChildOf returns the child of a process that has one: a daemon's worker.
func ChildOf(parent int) (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // has ended meanwhile
		}
		// "123 (name) S 45 ...": the name may contain any character.
		text := string(data)
		open, end := strings.Index(text, "("), strings.LastIndex(text, ")")
		if open < 0 || end < open {
			continue
		}
		var pid, ppid int
		var state string
		if _, err := fmt.Sscan(text[:open], &pid); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if _, err := fmt.Sscan(text[end+1:], &state, &ppid); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if ppid == parent && state != "Z" {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("process %d has no child", parent)
}
