package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
)

// Version is the daemon's version.
const Version = "0.1.0"

// Options configure a Server. Every field must be set except Claim, Trace,
// Policy and Measure.
type Options struct {
	Socket         string
	Claim          *Claim        // on Socket; nil: Start claims Socket
	ExtentSize     int64         // bytes, a power of two
	Budget         int64         // bytes of extents and blocks
	Warm           int64         // bytes of extents that always exist
	Window         int           // maximum number of result batches of a job
	SpoolDir       string        // for results that stay unread while jobs wait for memory
	SpoolLimit     int64         // bytes in SpoolDir; 0: results stay in memory
	SpoolAfter     time.Duration // for which such results were not read
	MaxConnections int
	HelloTimeout   time.Duration // from the connection to HELLO
	IdleTimeout    time.Duration // between frames of a session without a job; 0: no limit
	StopTimeout    time.Duration // for running jobs during a graceful stop
	IdleTrim       time.Duration // how long unused memory beyond Warm is kept
	Cores          int           // cores that the cpu provider uses
	Processors     int           // that the process may use by its affinity and control group
	Policy         executor.Policy
	Rates          *Rates
	// Measure returns better rates than the first ones and their source. It runs
	// while the server serves. nil: the first ones remain.
	Measure func(context.Context) (costmodel.Rates, RatesSource, error)
	Log     *slog.Logger
	Trace   *Tracer

	hooks testHooks
}

// testHooks are set by tests only. They replace what they are named after.
type testHooks struct {
	peerOf    func(*net.UnixConn) (credentials, error)
	calibrate func() (costmodel.Rates, float64, error) // exec.Calibrate
	spot      func() (float64, float64, error)         // exec.Spot
}

// Check returns an error if a server cannot run with o.
func (o *Options) Check() error {
	switch {
	case o.Socket == "":
		return errors.New("no socket is configured")
	case o.Budget < 4*o.ExtentSize:
		return fmt.Errorf("a memory budget of %d bytes is less than four extents of %d bytes", o.Budget, o.ExtentSize)
	case o.Window < 2:
		return fmt.Errorf("a window of %d result batches is less than 2", o.Window)
	case o.MaxConnections < 1:
		return fmt.Errorf("invalid number of connections: %d", o.MaxConnections)
	case o.Warm > o.Budget:
		return fmt.Errorf("%d bytes of warm memory do not fit a budget of %d bytes", o.Warm, o.Budget)
	}
	return shm.CheckExtentSize(o.ExtentSize)
}
