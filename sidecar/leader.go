package sidecar

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// leader returns the process id of the leader of c's parallel group; claimed is
// the id that c itself reports. Admission treats the processes of one group as
// one backend, so a process must not be able to claim membership of another
// backend's group. The leader is therefore either the process itself or a
// process of the same user with the same parent: PostgreSQL's leaders and
// workers are all children of the postmaster. Any other claim is ignored.
//
// The kernel reports no process id across a boundary of process id namespaces.
// In that case leader returns claimed.
func (c credentials) leader(claimed int32) int32 {
	if c.pid == 0 || claimed == c.pid || c.isSibling(claimed) {
		return max(claimed, 0)
	}
	return c.pid
}

// isSibling says whether a process of c's user has the same parent as c.
func (c credentials) isSibling(pid int32) bool {
	var st unix.Stat_t
	if pid <= 0 || unix.Stat(fmt.Sprintf("/proc/%d", pid), &st) != nil || st.Uid != c.uid {
		return false
	}
	parent := parentOf(pid)
	return parent > 0 && parent == parentOf(c.pid)
}

// parentOf returns a process's parent, 0 if there is no such process.
func parentOf(pid int32) int32 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the program, in parentheses, may contain anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.ParseInt(string(fields[1]), 10, 32)
	if err != nil {
		return 0
	}
	return int32(parent)
}
