package worker

import (
	"log/slog"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/memory"
)

// Config says which worker to keep, and how.
type Config struct {
	Name     string   // of the provider
	Path     string   // of the worker's program
	Args     []string // of the program
	Checksum []byte   // SHA-256 that the program must have; nil: what it has now
	// Sockets is a directory that only the daemon's user can read. It is created,
	// and files of a previous daemon are removed.
	Sockets string
	// Probe says what is missing on this machine, before a child is started.
	Probe func() error
	// Check returns an error that wraps joincore.ErrUnsupported if the child's
	// provider cannot run a plan. nil: it runs all that the messages can describe.
	Check   func(plan *joincore.Checked) error
	Environ []string // the daemon's, of which the child gets a few
	Store   *memory.Store
	Log     *slog.Logger
	Timing  Timing
}

// Timing is how patient the supervisor is.
type Timing struct {
	Start        time.Duration // until a child serves
	First        time.Duration // from then until its first sign of life
	Health       time.Duration // between signs of life
	Silence      time.Duration // without one, until it is killed
	Cancel       time.Duration // from cancelling a job until it has stopped
	Reap         time.Duration // for a killed child to exit, until its jobs end without it
	Stop         time.Duration // for a child to end by itself when asked to
	Probe        time.Duration // between probes that find something missing
	RestartFirst time.Duration // after the first end; doubles
	RestartMost  time.Duration
	Deaths       int           // within Window open the breaker
	Window       time.Duration // for deaths to be forgotten
	Open         time.Duration // how long the breaker stays open
}

// DefaultTiming is for real devices.
var DefaultTiming = Timing{
	Start: 5 * time.Minute, First: time.Minute, Health: time.Second, Silence: 5 * time.Second, Cancel: 10 * time.Second,
	Reap: 10 * time.Second, Stop: 2 * time.Second, Probe: time.Minute,
	RestartFirst: time.Second, RestartMost: time.Minute,
	Deaths: 5, Window: 10 * time.Minute, Open: 10 * time.Minute,
}
