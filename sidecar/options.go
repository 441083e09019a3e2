package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"

	"gpujoin/joincore/costmodel"
	"gpujoin/shm"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/foreign"

	"golang.org/x/sys/unix"
)

// Options configure a Server. Config, Rates and Log must be set.
type Options struct {
	config.Config
	Claim  *Claim // on Socket; nil: Start claims Socket
	Policy executor.Policy
	Rates  *Rates
	// Measure returns better rates than the first ones and their source. It runs
	// while the server serves. nil: the first ones remain.
	Measure func(context.Context) (costmodel.Rates, RatesSource, error)
	Log     *slog.Logger
	Tracer  *Tracer

	peerOf func(*net.UnixConn) (credentials, error)                 // set by tests; nil: the kernel's answer
	pinOf  func(token string, from foreign.Peer) (mirrorPin, error) // the same; nil: that of the server's sources
}

// Check returns an error if a server cannot run with o.
func (o *Options) Check() error {
	switch {
	case o.Socket == "":
		return errors.New("no socket is configured")
	case o.MemoryBudget < 4*o.ExtentSize:
		return fmt.Errorf("a memory budget of %d bytes is less than four extents of %d bytes", o.MemoryBudget, o.ExtentSize)
	case o.Window < 2:
		return fmt.Errorf("a window of %d result batches is less than 2", o.Window)
	case o.Connections < 1:
		return fmt.Errorf("invalid number of connections: %d", o.Connections)
	case o.MemoryWarm > o.MemoryBudget:
		return fmt.Errorf("%d bytes of warm memory do not fit a budget of %d bytes", o.MemoryWarm, o.MemoryBudget)
	}
	return shm.CheckExtentSize(o.ExtentSize)
}

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
	return limits{files: int64(min(files.Cur, math.MaxInt32)), mappings: config.FindMappings()}, nil
}

// maxExtents returns the maximum number of extents. Connections and files need
// descriptors, and blocks, Go's heap and drivers need mappings: Go ends the
// process if it gets none.
func (l limits) maxExtents(connections int) int {
	files := l.files - min(int64(connections), l.files/4) - 64
	return int(max(4, min(files, l.mappings/2)))
}

// CheckExtents returns a description of the kernel's limits on extents, or an
// error if they do not allow as many extents as the budget has.
func CheckExtents(c *config.Config) (string, error) {
	l, err := findLimits()
	if err != nil {
		return "", err
	}
	return l.check(c.MemoryBudget, c.ExtentSize, c.Connections)
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
