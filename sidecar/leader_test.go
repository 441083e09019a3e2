package sidecar

import (
	"os"
	"os/exec"
	"testing"
)

// TestLeader claims leaders. Two children of the test are what a leader and
// its worker are: siblings.
func TestLeader(t *testing.T) {
	child := func() int32 {
		c := exec.Command("sleep", "600")
		must(t, c.Start())
		t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
		return int32(c.Process.Pid)
	}
	worker, leader, self, uid := child(), child(), int32(os.Getpid()), uint32(os.Getuid())
	for _, c := range []struct {
		name          string
		peer          credentials
		claimed, want int32
	}{
		{"itself", credentials{worker, uid}, worker, worker},
		{"its leader", credentials{worker, uid}, leader, leader},
		{"a process of another user", credentials{worker, uid + 1}, leader, worker},
		{"its parent", credentials{worker, uid}, self, worker},
		{"a process with another parent", credentials{self, uid}, leader, self},
		{"none", credentials{worker, uid}, 0, worker},
		{"no process", credentials{worker, uid}, -1, worker},
		{"one that has ended", credentials{worker, uid}, 1 << 30, worker},
		{"another namespace", credentials{0, uid}, 77, 77},
		{"none in another namespace", credentials{0, uid}, -1, 0},
	} {
		if got := c.peer.leader(c.claimed); got != c.want {
			t.Errorf("%s: %d in place of %d", c.name, got, c.want)
		}
	}
}
