// Package config determines how much of the machine's memory the process may
// use: all of it, or the limit of its control group, and how many mappings. It does not deal with
// processor limits, which Go's runtime observes (runtime.GOMAXPROCS).
package config

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Memory is the memory that a process may use.
type Memory struct {
	Total   int64  // bytes that the process may use; at most Machine
	Machine int64  // bytes of physical memory
	Source  string // file that sets Total; "": Total equals Machine
}

// String returns the size and the source of the limit.
func (m Memory) String() string {
	if m.Source == "" {
		return fmt.Sprintf("%d MB", m.Total>>20)
	}
	return fmt.Sprintf("%d MB that %s allows", m.Total>>20, m.Source)
}

// FindMemory returns the memory that this process may use.
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
