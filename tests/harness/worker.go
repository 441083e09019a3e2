package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildWorker builds the worker that replaces gpujoin-cuda on machines without
// a GPU. It puts an empty file next to it as the driver's library, for a daemon
// with that directory in LD_LIBRARY_PATH.
func (e *Env) BuildWorker() (program string, err error) {
	release, err := lock(filepath.Join(e.Work, "pg.lock"))
	if err != nil {
		return "", err
	}
	defer release()
	dir := filepath.Join(e.Work, "worker")
	program = filepath.Join(dir, "testworker")
	cmd := exec.Command("go", "build", "-trimpath", "-o", program, "./testsupport/worker")
	cmd.Dir = e.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, os.WriteFile(filepath.Join(dir, "libcuda.so.1"), nil, 0o644)
}

// ChildOf returns the child of a process that has one: a daemon's worker.
func ChildOf(parent int) (int, error) {
	children, err := ChildrenOf(parent)
	if err == nil && len(children) == 0 {
		err = fmt.Errorf("process %d has no child", parent)
	}
	if err != nil {
		return 0, err
	}
	return children[0], nil
}

// ChildrenOf returns the children of a process that have not ended.
func ChildrenOf(parent int) (children []int, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
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
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if _, err := fmt.Sscan(text[end+1:], &state, &ppid); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if ppid == parent && state != "Z" {
			children = append(children, pid)
		}
	}
	return children, nil
}
