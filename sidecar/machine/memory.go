// Package machine says how much of this machine's memory the process may use:
// all of it, or less where a control group limits it. Go's scheduler looks
// after the limits of processors by itself (runtime.GOMAXPROCS).
package machine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Memory is the memory that a process may use.
type Memory struct {
	Total   int64  // bytes; at most Machine
	Machine int64  // bytes of the machine
	Source  string // the file that limits Total; "": the machine does
}

// String says how much there is, and what limits it.
func (m Memory) String() string {
	if m.Source == "" {
		return fmt.Sprintf("%d MB", m.Total>>20)
	}
	return fmt.Sprintf("%d MB that %s allows", m.Total>>20, m.Source)
}

// FindMemory looks for this process's memory.
func FindMemory() (Memory, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return Memory{}, fmt.Errorf("sysinfo: %w", err)
	}
	m := Memory{Machine: int64(info.Totalram) * int64(info.Unit)}
	m.Total = m.Machine
	if limit, source := cgroupLimit(os.DirFS("/")); limit > 0 && limit < m.Total {
		m.Total, m.Source = limit, "/"+source
	}
	return m, nil
}
