package config

import (
	"fmt"
	"os"
	"strconv"
	"strings"

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

// MappingsFile is the setting that FindMappings reads.
const MappingsFile = "/proc/sys/vm/max_map_count"

// FindMappings returns how many areas of memory a process may map.
func FindMappings() (int64, error) {
	text, err := os.ReadFile(MappingsFile)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", MappingsFile, err)
	}
	return n, nil
}
