package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// build turns the settings into a Config and collects their errors.
func (l *loader) build() *Config {
	memory, err := FindMemory()
	if err != nil {
		l.errs = append(l.errs, err)
		memory.Total = 1 << 30
	}
	c := &Config{
		Socket:       l.values["socket"],
		ExtentSize:   l.size("extent_size", 0),
		MemoryBudget: l.size("memory_budget", memory.Total),
		MemoryWarm:   l.size("memory_warm", 0),
		KeepInterest: l.duration("keep_interest"),
		IdleTrim:     l.duration("idle_trim"),
		Window:       l.integer("window", 2, 1024),
		SpoolDir:     l.path("spool_dir"),
		SpoolLimit:   l.size("spool_limit", 0),
		SpoolAfter:   l.duration("spool_after"),
		Connections:  l.integer("connections", 1, 1<<20),
		HelloTimeout: l.duration("hello_timeout"),
		IdleTimeout:  l.duration("idle_timeout"),
		StopTimeout:  l.duration("stop_timeout"),
		Cores:        l.integer("cores", 0, 1<<16),
		Calibrate:    l.boolean("calibrate"),
		Provider:     l.choice("provider", "auto", "cpu", "cuda"),
		CUDAMinRows:  int64(l.integer("cuda_min_rows", 0, math.MaxInt)),
		CUDAPlugin:   l.path("cuda_plugin"),
		CUDAChecksum: l.checksum("cuda_checksum"),
		CUDAMemory:   l.share("cuda_memory", 1),
		CUDAKeep:     l.share("cuda_keep", 0),
		CUDADevices:  l.integer("cuda_devices", 0, 64),
		CUDAStrategy: l.choice("cuda_strategy", "auto", "alone", "replicate", "divide", "exchange", "spread", "hybrid"),
		CUDATransfer: l.choice("cuda_transfer_method", "auto", "pageable", "staged", "dynamic", "pinned", "zero-copy", "coherence", "prefetch", "migration"),
		CUDAPeers:    l.choice("cuda_peer_access", "auto", "off"),
		CUDAMesh:     l.path("cuda_mesh"),
		LogLevel:     l.choice("log_level", "debug", "info", "warn", "error"),
		LogFormat:    l.choice("log_format", "text", "json"),
		Trace:        l.values["trace"],
		Metrics:      l.loopback("metrics_listen"),
		StateDir:     l.path("state_dir"),
		Memory:       memory,
		Processors:   runtime.GOMAXPROCS(0),
		written:      l.values,
	}
	if c.Cores == 0 {
		c.Cores = c.Processors
	}
	c.KeepMemory = min(l.size("keep_memory", c.MemoryBudget), c.MemoryBudget)
	if c.KeepMemory < 2*c.ExtentSize { // of one for columns, nothing is left for their directory
		c.KeepMemory = 0
	}
	c.MirrorMemory = min(l.size("mirror_memory", c.MemoryBudget), c.MemoryBudget)
	c.MemoryWarm = min(c.MemoryWarm, c.MemoryBudget/4)
	c.Settings = l.settings(map[string]int64{
		"cores": int64(c.Cores), "memory_budget": c.MemoryBudget, "memory_warm": c.MemoryWarm, "keep_memory": c.KeepMemory,
	})
	return c
}

// settings lists all settings. computed has those whose value is not what was set: a percentage
// that became a size, or a limit that another one lowers.
func (l *loader) settings(computed map[string]int64) []Setting {
	var out []Setting
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		value := l.values[name]
		if n, ok := computed[name]; ok {
			value = strconv.FormatInt(n, 10)
			if name != "cores" {
				value = FormatSize(n)
			}
		}
		out = append(out, Setting{name, value, l.origin[name]})
	}
	return out
}

func (l *loader) fail(key, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("%s: %s: %s", l.origin[key], key, fmt.Sprintf(format, args...)))
}

func (l *loader) size(key string, of int64) int64 {
	n, err := ParseSize(l.values[key], of)
	if err != nil {
		l.fail(key, "%v", err)
	}
	return n
}

func (l *loader) duration(key string) time.Duration {
	d, err := time.ParseDuration(l.values[key])
	if err != nil || d < 0 {
		l.fail(key, "%q is not a duration such as 500ms or 30s", l.values[key])
	}
	return d
}

func (l *loader) integer(key string, low, high int) int {
	n, err := strconv.Atoi(l.values[key])
	if err != nil || n < low || n > high {
		l.fail(key, "%q is not a whole number from %d to %d", l.values[key], low, high)
	}
	return n
}

func (l *loader) boolean(key string) bool {
	b, err := strconv.ParseBool(l.values[key])
	if err != nil {
		l.fail(key, "%q is neither true nor false", l.values[key])
	}
	return b
}

func (l *loader) choice(key string, values ...string) string {
	if !slices.Contains(values, l.values[key]) {
		l.fail(key, "%q is none of %s", l.values[key], strings.Join(values, ", "))
	}
	return l.values[key]
}

// share checks a size or a percentage whose base is not known here.
func (l *loader) share(key string, least int64) string {
	text := l.values[key]
	if n, err := ParseSize(text, 1<<40); err != nil || n < least || strings.HasSuffix(text, "%") && n > 1<<40 {
		l.fail(key, "%q is neither a size nor a percentage", text)
	}
	return text
}

// path checks the path of a file or directory; "" means none.
func (l *loader) path(key string) string {
	path := l.values[key]
	if path != "" && !filepath.IsAbs(path) {
		l.fail(key, "%q is not an absolute path", path)
	}
	return path
}

// loopback checks an address that only this machine can reach; "" means none. What it serves
// knows neither passwords nor encryption.
func (l *loader) loopback(key string) string {
	text := l.values[key]
	if text == "" {
		return ""
	}
	if at, err := netip.ParseAddrPort(text); err != nil || !at.Addr().IsLoopback() {
		l.fail(key, "%q is not a loopback address with a port, such as 127.0.0.1:9947 or [::1]:9947", text)
	}
	return text
}

// checksum parses a SHA-256; nil means none.
func (l *loader) checksum(key string) []byte {
	text := l.values[key]
	if text == "" {
		return nil
	}
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != sha256.Size {
		l.fail(key, "%q is not a SHA-256 of 64 hexadecimal digits", text)
	}
	return sum
}

// units are PostgreSQL's units, which are powers of 1024, and their IEC names.
var units = map[string]int64{
	"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// ParseSize parses a size with a unit, such as 4MB, 1.5 GB or 65536, and
// returns bytes. If of is not 0, s may also be a percentage of it.
func ParseSize(s string, of int64) (int64, error) {
	text := strings.TrimSpace(s)
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	unit := strings.ToLower(strings.TrimSpace(text[end:]))
	factor, ok := units[unit]
	if unit == "%" && of > 0 {
		factor, ok, n = of, true, n/100
	}
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit; use kB, MB, GB or TB", s)
	}
	n *= float64(factor)
	if n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return int64(n), nil
}

// FormatSize returns a size with a unit that ParseSize understands.
func FormatSize(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}} {
		if n >= 10*unit.size || n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
