package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
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

// FindMappings returns how many areas of memory a process may map, math.MaxInt64 if that
// is unknown.
func FindMappings() int64 {
	if n := number(os.DirFS("/"), MappingsFile[1:]); n > 0 {
		return n
	}
	return math.MaxInt64
}

// cgroupLimit returns the smallest memory limit, in bytes, of this process's
// control group and all its ancestors, and the path below root of the file that
// sets it; 0 means no limit. Pages of memfds count towards the limit.
// Unreadable files are skipped, since the kernel enforces the limits anyway.
//
// In version 2, memory.high counts as well as memory.max: the kernel throttles
// a group above memory.high severely, because extents in use cannot be
// reclaimed.
func cgroupLimit(root fs.FS) (limit int64, source string) {
	limit = math.MaxInt64
	least := func(file string, n int64) {
		if n > 0 && n < limit {
			limit, source = n, file
		}
	}
	unified, memory := memoryGroups(root)
	text, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return 0, ""
	}
	mounts, err := mountinfo.GetMountsFromReader(bytes.NewReader(text), mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return 0, ""
	}
	for _, m := range mounts {
		switch {
		case m.FSType == "cgroup2":
			for dir := range dirsOf(m, unified) {
				for _, name := range []string{"memory.max", "memory.high"} {
					least(path.Join(dir, name), number(root, path.Join(dir, name)))
				}
			}
		case slices.Contains(strings.Split(m.VFSOptions, ","), "memory"):
			for dir := range dirsOf(m, memory) {
				file := path.Join(dir, "memory.limit_in_bytes")
				least(file, number(root, file))
				file = path.Join(dir, "memory.stat") // knows of groups above the mount, too
				least(file, field(root, file, "hierarchical_memory_limit"))
			}
		}
	}
	if source == "" {
		return 0, ""
	}
	return limit, source
}

// memoryGroups returns the control groups of the process as paths in their hierarchies, ""
// where it is in none: that of version 2, and that of version 1 for memory.
func memoryGroups(root fs.FS) (unified, memory string) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(text)) { // hierarchy:controllers:path
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[0] == "0" && parts[1] == "":
			unified = parts[2]
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			memory = parts[2]
		}
	}
	return unified, memory
}

// dirsOf yields the directories below root of a group and all above it that a
// mount shows. A group that lies elsewhere than the mount's root, as in some
// containers, is taken for that root.
func dirsOf(m *mountinfo.Info, group string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if group == "" {
			return
		}
		below, ok := strings.CutPrefix(group, strings.TrimSuffix(m.Root, "/"))
		if !ok || below != "" && below[0] != '/' || strings.HasPrefix(below, "/..") {
			below = ""
		}
		top := strings.TrimPrefix(m.Mountpoint, "/")
		for dir := path.Join(top, below); yield(dir) && dir != top; {
			dir = path.Dir(dir)
		}
	}
}

// number reads a file that holds one number: 0 for any other text ("max"), the greatest
// number, which is no limit, for a greater one.
func number(root fs.FS, file string) int64 {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// field reads a number from a file of lines "name number".
func field(root fs.FS, file, name string) int64 {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}
