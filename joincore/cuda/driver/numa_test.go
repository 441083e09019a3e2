package driver

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNearestNode: the node of a device is what the system says, if there is a choice.
func TestNearestNode(t *testing.T) {
	const address = "00000000:1B:00.0"
	for name, c := range map[string]struct {
		online, node string // of the files; "": there is none
		want         int
	}{
		"two nodes":            {"0-1\n", "1\n", 1},
		"nodes with a gap":     {"0,2\n", "2\n", 2},
		"one node":             {"0\n", "0\n", -1},
		"a device of no node":  {"0-1\n", "-1\n", -1},
		"unknown device":       {"0-1\n", "", -1},
		"unknown nodes":        {"", "1\n", -1},
		"something else":       {"0-3\n", "none\n", -1},
		"more nodes than bits": {"0-4095\n", "4000\n", 4000},
	} {
		sys := t.TempDir()
		write := func(text string, path ...string) {
			file := filepath.Join(append([]string{sys}, path...)...)
			if text == "" {
				return
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(c.online, "devices", "system", "node", "online")
		write(c.node, "bus", "pci", "devices", "0000:1b:00.0", "numa_node")
		if got := nearestNode(sys, address); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
