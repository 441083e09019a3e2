package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
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
		Socket:       l.k.String("socket"),
		ExtentSize:   l.size("extent_size", 0),
		MemoryBudget: l.size("memory_budget", memory.Total),
		MemoryWarm:   l.size("memory_warm", 0),
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
		CUDAMemory:   l.share("cuda_memory"),
		CUDADevices:  l.integer("cuda_devices", 0, 64),
		CUDAMesh:     l.path("cuda_mesh"),
		LogLevel:     l.choice("log_level", "debug", "info", "warn", "error"),
		LogFormat:    l.choice("log_format", "text", "json"),
		Trace:        l.k.String("trace"),
		Memory:       memory,
		Processors:   runtime.GOMAXPROCS(0),
	}
	if c.Cores == 0 {
		c.Cores = c.Processors
	}
	c.MemoryWarm = min(c.MemoryWarm, c.MemoryBudget/4)
	return c
}

func (l *loader) fail(key, format string, args ...any) {
	at := l.origin[key]
	if at == "" {
		at = "default"
	}
	l.errs = append(l.errs, fmt.Errorf("%s: %s: %s", at, key, fmt.Sprintf(format, args...)))
}

func (l *loader) text(key string) string { return fmt.Sprint(l.k.Get(key)) }

func (l *loader) size(key string, of int64) int64 {
	n, err := ParseSize(l.text(key), of)
	if err != nil {
		l.fail(key, "%v", err)
	}
	return n
}

func (l *loader) duration(key string) time.Duration {
	d, err := time.ParseDuration(l.text(key))
	if err != nil || d < 0 {
		l.fail(key, "%q is not a duration such as 500ms or 30s", l.text(key))
	}
	return d
}

func (l *loader) integer(key string, low, high int) int {
	n, err := strconv.Atoi(l.text(key))
	if err != nil || n < low || n > high {
		l.fail(key, "%q is not a whole number from %d to %d", l.text(key), low, high)
	}
	return n
}

func (l *loader) boolean(key string) bool {
	b, err := strconv.ParseBool(l.text(key))
	if err != nil {
		l.fail(key, "%q is neither true nor false", l.text(key))
	}
	return b
}

func (l *loader) choice(key string, values ...string) string {
	for _, v := range values {
		if l.text(key) == v {
			return v
		}
	}
	l.fail(key, "%q is none of %s", l.text(key), strings.Join(values, ", "))
	return ""
}

// share checks a size or a percentage whose base is not known here.
func (l *loader) share(key string) string {
	text := l.text(key)
	if n, err := ParseSize(text, 1<<40); err != nil || n <= 0 || strings.HasSuffix(text, "%") && n > 1<<40 {
		l.fail(key, "%q is neither a size nor a percentage", text)
	}
	return text
}

// path checks the path of a file or directory; "" means none.
func (l *loader) path(key string) string {
	path := l.k.String(key)
	if path != "" && !filepath.IsAbs(path) {
		l.fail(key, "%q is not an absolute path", path)
	}
	return path
}

// checksum parses a SHA-256; nil means none.
func (l *loader) checksum(key string) []byte {
	text := l.k.String(key)
	if text == "" {
		return nil
	}
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != sha256.Size {
		l.fail(key, "%q is not a SHA-256 of 64 hexadecimal digits", text)
	}
	return sum
}
