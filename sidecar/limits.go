package sidecar

import (
	"fmt"
	"math"

	"gpujoin/sidecar/config"

	"golang.org/x/sys/unix"
)

// limits are the kernel's limits on the number of extents. Each extent has one
// descriptor and one mapped area, here and in a worker.
type limits struct {
	files    int64
	mappings int64 // math.MaxInt64 if unknown
}

func findLimits() (limits, error) {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return limits{}, fmt.Errorf("RLIMIT_NOFILE: %w", err)
	}
	l := limits{files: int64(min(files.Cur, math.MaxInt32)), mappings: math.MaxInt64}
	if n, err := config.FindMappings(); err == nil {
		l.mappings = n
	}
	return l, nil
}

// maxExtents returns the maximum number of extents. Connections and files need
// descriptors, and blocks, Go's heap and drivers need mappings: Go ends the
// process if it gets none.
func (l limits) maxExtents(connections int) int {
	files := l.files - min(int64(connections), l.files/4) - 64
	return int(max(4, min(files, l.mappings/2)))
}

// CheckExtents returns a description of the kernel's limits on extents, or an
// error if they do not allow as many extents as a budget of that many bytes has.
func CheckExtents(budget, extentSize int64, connections int) (string, error) {
	l, err := findLimits()
	if err != nil {
		return "", err
	}
	return l.check(budget, extentSize, connections)
}

func (l limits) check(budget, extentSize int64, connections int) (string, error) {
	extents := budget / extentSize
	if need := extents + int64(connections) + 64; l.files < need {
		return "", fmt.Errorf("%d open files are allowed, but %d may be needed; raise the limit or the extent size", l.files, need)
	}
	if l.mappings/2 < extents {
		return "", fmt.Errorf("%s allows %d mappings, and half of them may be extents, but the budget has %d; raise the limit or the extent size",
			config.MappingsFile, l.mappings, extents)
	}
	return fmt.Sprintf("%d open files and %d mappings allowed, for %d extents", l.files, l.mappings, extents), nil
}
