package harness

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Holdings are the resources of a process that could leak.
type Holdings struct {
	FDs     int   // open file descriptors
	MemFDs  int   // memfds among them
	Sockets int   // sockets among them
	Mapped  int64 // mapped bytes of memfds
}

// HoldingsOf reads them from /proc, as root or the process's user.
func HoldingsOf(pid int) (Holdings, error) {
	var h Holdings
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return h, err
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		h.FDs++
		if strings.HasPrefix(target, "/memfd:") {
			h.MemFDs++
		}
		if strings.HasPrefix(target, "socket:") {
			h.Sockets++
		}
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return h, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if !strings.Contains(lines.Text(), "/memfd:") {
			continue
		}
		var from, to int64
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); err != nil {
			return h, fmt.Errorf("maps of %d: %w", pid, err)
		}
		h.Mapped += to - from
	}
	return h, nil
}

// Memory is resident memory in bytes.
type Memory struct {
	RSS     int64 // now, shared pages included
	Peak    int64 // of RSS
	Shared  int64 // of RSS: memfds and other shared memory
	Private int64 // of RSS: the rest
}

// MemoryOf reads a process's memory from /proc.
func MemoryOf(pid int) (Memory, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	field := func(name string) int64 {
		_, rest, found := strings.Cut(string(data), name+":")
		if !found {
			return 0
		}
		kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64) // the kernel writes a number
		return kb << 10
	}
	m := Memory{RSS: field("VmRSS"), Peak: field("VmHWM"), Shared: field("RssShmem")}
	m.Private = m.RSS - m.Shared
	return m, nil
}

// ResetPeak resets Memory.Peak to the current RSS.
func ResetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
