// Package config reads the daemon's configuration. Flags take precedence over
// the environment (GPUJOIND_*), the environment over a TOML file, and the file
// over the defaults. Each setting has one name: with dashes as a flag, with
// underscores in the file, and with underscores in capitals in the environment.
// An unknown setting or an invalid value is an error that names its source.
//
// It also determines how much of the machine's memory the process may use (all of it,
// or the limit of its control group) and how many mappings. It does not deal with
// processor limits, which Go's runtime observes (runtime.GOMAXPROCS).
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
)

// ErrConfig is wrapped by all errors of this package.
var ErrConfig = errors.New("configuration")

// Config is the daemon's configuration.
type Config struct {
	Socket       string
	ExtentSize   int64         // bytes, a power of two
	MemoryBudget int64         // bytes of extents and blocks
	MemoryWarm   int64         // bytes of extents that always exist
	KeepMemory   int64         // bytes, of MemoryBudget, of columns that are kept between jobs; 0: none
	MirrorMemory int64         // bytes, of MemoryBudget, of mirrors of foreign servers; 0: none
	KeepInterest time.Duration // within which a second use of columns captures them
	IdleTrim     time.Duration // how long unused memory beyond MemoryWarm is kept
	Window       int           // maximum number of result batches of a job
	SpoolDir     string        // for results that stay unread while jobs wait for memory
	SpoolLimit   int64         // bytes in SpoolDir; 0: results stay in memory
	SpoolAfter   time.Duration // for which such results were not read
	Connections  int
	HelloTimeout time.Duration // from the connection to HELLO
	IdleTimeout  time.Duration // between frames of a session without a job; 0: no limit
	StopTimeout  time.Duration // for running jobs during a graceful stop
	Cores        int           // that the cpu provider uses
	Calibrate    bool
	Provider     string
	CUDAMinRows  int64
	CUDAPlugin   string // "": in the daemon's directory
	CUDAChecksum []byte // SHA-256; nil: of the plugin as found at start
	CUDAMemory   string // for joins, of each device: bytes or a percentage
	CUDAKeep     string // of that, for columns that stay there between joins: bytes or a percentage
	CUDADevices  int    // of a join, at most; 0: as many as pay
	CUDAStrategy string // by which several devices execute a join, where they can
	CUDATransfer string // the method by which inputs reach a device
	CUDAPeers    string // auto: GPUs access each other's memory where they can; off: never
	CUDAMesh     string // file of measured links between devices; "": next to the socket
	LogLevel     string
	LogFormat    string
	Trace        string // file; "": none
	Metrics      string // loopback address that serves metrics by HTTP; "": none
	StateDir     string // of files that outlive the daemon; "": that of the socket
	File         string // path of the file that was read; "": none

	Settings []Setting // all of them, by name

	Memory     Memory // memory that the process may use
	Processors int    // that it may use by its affinity and control group

	written map[string]string // the settings by name, before percentages became sizes
}

// StateFile returns the path of a file with results of measurements.
func (c *Config) StateFile(suffix string) string {
	if c.StateDir == "" {
		return c.Socket + "." + suffix
	}
	return filepath.Join(c.StateDir, filepath.Base(c.Socket)+"."+suffix)
}

// Setting is the value of a setting in effect.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // default, a flag, an environment variable, or file:line
}

// DefaultFile is the configuration file that is read, if it exists, when no
// other file is named.
const DefaultFile = "/etc/gpujoin/gpujoind.toml"

// Flags adds a flag for each setting to fs.
func Flags(fs *pflag.FlagSet) {
	fs.String("config", "", "configuration file (default "+DefaultFile+", if it exists)")
	fs.String("socket", "/run/gpujoin/gpujoind.sock", "unix socket to serve")
	fs.String("state-dir", "", "directory of the files with measured rates and links (default that of the socket)")
	fs.String("extent-size", "4MB", "size of an extent, a power of two from 1MB to 1GB")
	fs.String("memory-budget", "25%", "maximum memory of extents and joins: a size, or a percentage of the memory that the daemon may use")
	fs.String("memory-warm", "256MB", "extents that always exist, at most a quarter of the budget")
	fs.String("keep-memory", "40%", "maximum memory of columns that are kept between queries: a size, or a percentage of the budget; less than two extents: keep none")
	fs.String("mirror-memory", "40%", "maximum memory of mirrors of tables of foreign servers: a size, or a percentage of the budget; 0: mirror none")
	fs.Duration("keep-interest", time.Hour, "keep columns of a table that are used again within this time")
	fs.Duration("idle-trim", time.Minute, "free memory beyond memory-warm after this time without work")
	fs.Int("window", 16, "maximum number of result batches of a job")
	fs.String("spool-dir", "/var/tmp", "directory, on a disk, for results that are not read while jobs wait for memory")
	fs.String("spool-limit", "1GB", "maximum size of results in spool-dir; 0: they stay in memory")
	fs.Duration("spool-after", 10*time.Second, "results that were not read for this time may move to spool-dir")
	fs.Int("connections", 1024, "maximum number of open connections")
	fs.Duration("hello-timeout", 10*time.Second, "longest time from the connection to its first message")
	fs.Duration("idle-timeout", time.Minute, "longest time between two messages of a connection without a job; 0: no limit")
	fs.Duration("stop-timeout", 30*time.Second, "longest wait for running jobs during a graceful stop")
	fs.Int("cores", 0, "cores that joins use; 0: all that the daemon may use")
	fs.String("calibrate", "true", "measure the machine during the first start; false: assume typical rates")
	fs.String("provider", "auto", "provider that executes joins: auto, cpu or cuda")
	fs.Int("cuda-min-rows", 1_000_000, "with auto, minimum number of input rows of a join on a GPU")
	fs.String("cuda-plugin", "", "worker program (default gpujoin-cuda in the directory of gpujoind)")
	fs.String("cuda-checksum", "", "SHA-256 of the worker program in hexadecimal (default the one that it has when it is first used)")
	fs.String("cuda-memory", "90%", "maximum memory of joins on each GPU: a size, or a percentage of the GPU's memory")
	fs.String("cuda-keep", "40%", "maximum memory of columns that stay on each GPU between joins: a size, or a percentage of cuda-memory; 0: none stay")
	fs.Int("cuda-devices", 1, "maximum number of GPUs of a join; 0: as many as pay")
	fs.String("cuda-strategy", "auto", "how several GPUs execute a join, where they can")
	fs.String("cuda-transfer-method", "auto", "how inputs of joins reach a GPU")
	fs.String("cuda-peer-access", "auto", "whether GPUs access each other's memory, where they can")
	fs.String("cuda-mesh", "", "file with the measured links between GPUs (default in state-dir)")
	fs.String("metrics-listen", "", "loopback address and port that serve metrics by HTTP, such as 127.0.0.1:9947 (default none)")
	fs.String("log-level", "info", "least important messages that are logged: debug, info, warn or error")
	fs.String("log-format", "text", "format of the log: text or json")
	fs.String("trace", "", "record all frames to this file, for gpujoind dump")
}

// wellKept returns an error if users other than the owner may write to the
// file.
func wellKept(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: must be a file that only its owner can write to, but its mode is %04o", path, st.Mode().Perm())
	}
	return nil
}
