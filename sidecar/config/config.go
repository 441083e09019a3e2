package config

import (
	"errors"
	"fmt"
	"os"
	"time"

	"gpujoin/sidecar/machine"

	"github.com/spf13/pflag"
)

// ErrConfig is wrapped by all errors of this package.
var ErrConfig = errors.New("configuration")

// Config is the daemon's configuration.
type Config struct {
	Socket       string
	ExtentSize   int64
	MemoryBudget int64
	MemoryWarm   int64
	IdleTrim     time.Duration
	Window       int
	Connections  int
	HelloTimeout time.Duration
	IdleTimeout  time.Duration
	StopTimeout  time.Duration
	Cores        int
	Calibrate    bool
	Provider     string
	CUDAMinRows  int64
	CUDAPlugin   string // "": in the daemon's directory
	CUDAChecksum []byte // SHA-256; nil: of the plugin as found at start
	CUDAMemory   string // for joins, of each device: bytes or a percentage
	LogLevel     string
	LogFormat    string
	Trace        string
	File         string // path of the file that was read; "": none

	Memory machine.Memory // memory that the process may use
}

// DefaultFile is the configuration file that is read, if it exists, when no
// other file is named.
const DefaultFile = "/etc/gpujoin/gpujoind.toml"

// Flags adds a flag for each setting to fs.
func Flags(fs *pflag.FlagSet) {
	fs.String("config", "", "configuration file (default "+DefaultFile+", if it exists)")
	fs.String("socket", "/run/gpujoin/gpujoind.sock", "unix socket to serve")
	fs.String("extent-size", "4MB", "bytes of an extent, a power of two from 1MB to 1GB")
	fs.String("memory-budget", "25%", "memory for extents and joins: a size, or a share of the memory that the daemon may use")
	fs.String("memory-warm", "256MB", "extents that are kept ready always, at most a quarter of the budget")
	fs.Duration("idle-trim", time.Minute, "how long memory beyond memory-warm is kept when nobody works")
	fs.Int("window", 16, "result batches that a job may have under way")
	fs.Int("connections", 1024, "connections that may be open")
	fs.Duration("hello-timeout", 10*time.Second, "from connection to the first message")
	fs.Duration("idle-timeout", time.Minute, "between two messages of a connection that has no job; 0: no limit")
	fs.Duration("stop-timeout", 30*time.Second, "for running jobs on a graceful stop")
	fs.Int("cores", 0, "cores that joins use; 0: all that the daemon may use")
	fs.String("calibrate", "true", "measure the machine at the first start; false: assume typical rates")
	fs.String("provider", "auto", "what executes joins: auto, cpu or cuda")
	fs.Int("cuda-min-rows", 1_000_000, "rows of a join's inputs from which on auto means cuda")
	fs.String("cuda-plugin", "", "program that joins on GPUs (default gpujoin-cuda, beside gpujoind)")
	fs.String("cuda-checksum", "", "SHA-256 that this program must have, in hexadecimal; default: what it has at the start")
	fs.String("cuda-memory", "90%", "memory of each GPU for joins: a size, or a share of the GPU's")
	fs.String("log-level", "info", "debug, info, warn or error")
	fs.String("log-format", "text", "text or json")
	fs.String("trace", "", "file to record all frames to, for gpujoind dump")
}

// wellKept returns an error if users other than the owner may write to the
// file.
func wellKept(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: must be a file that only its owner may write, mode is %04o", path, st.Mode().Perm())
	}
	return nil
}
