package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// load loads with a file of the given text, "" for none.
func load(t *testing.T, file string, mode os.FileMode, environ []string, args ...string) (*Config, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Flags(fs)
	if file != "" {
		path := filepath.Join(t.TempDir(), "gpujoind.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(fs, environ)
}

func TestPrecedence(t *testing.T) {
	file := "socket = \"/file\"\nwindow = 5\nconnections = 7\nidle_trim = \"5s\"\nmemory_budget = \"1GB\"\n"
	c, err := load(t, file, 0o600, []string{"GPUJOIND_WINDOW=6", "GPUJOIND_CONNECTIONS=8", "HOME=/x"}, "--connections", "9")
	if err != nil {
		t.Fatal(err)
	}
	if c.Socket != "/file" || c.Window != 6 || c.Connections != 9 || c.IdleTrim != 5*time.Second ||
		c.MemoryBudget != 1<<30 || c.MemoryWarm != 256<<20 || c.ExtentSize != 4<<20 || !c.Calibrate || c.Cores < 1 ||
		c.LogFormat != "text" {
		t.Errorf("%+v", c)
	}
	for _, want := range []Setting{
		{"window", "6", "GPUJOIND_WINDOW"}, {"connections", "9", "--connections"}, {"memory_budget", "1GB", c.File + ":5"},
		{"memory_warm", "256MB", "default"}, {"keep_memory", "409MB", "default"}, {"metrics_listen", "", "default"},
	} {
		if !slices.Contains(c.Settings, want) {
			t.Errorf("no %+v in %+v", want, c.Settings)
		}
	}
	if c, err = load(t, "", 0, []string{"GPUJOIND_CALIBRATE=false"}, "--memory-budget=1GB", "--memory-warm=8GB"); err != nil {
		t.Fatal(err)
	}
	if c.Calibrate || c.MemoryWarm != 256<<20 {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]int64{"8MB": 8 << 20, "7MB": 0, "0": 0} {
		if c, err = load(t, "", 0, nil, "--memory-budget=1GB", "--keep-memory="+text); err != nil || c.KeepMemory != want {
			t.Errorf("keep_memory %s: %d bytes, %v", text, c.KeepMemory, err)
		}
	}
}

// TestWrong names the place of everything that is wrong.
func TestWrong(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		mode    os.FileMode
		environ []string
		args    []string
		want    string
	}{
		"unknown key":       {"window = 3\n\nwindwo = 4\n", 0o600, nil, nil, `gpujoind.toml:3: unknown setting "windwo"`},
		"unknown table":     {"window = 3\n[memory]\nbudget = 1\n", 0o600, nil, nil, `gpujoind.toml:2: unknown setting "memory.budget"`},
		"syntax":            {"window = 3\nsocket = /x\n", 0o600, nil, nil, "gpujoind.toml:2:10:"},
		"twice":             {"window = 3\nwindow = 4\n", 0o600, nil, nil, "gpujoind.toml"},
		"wrong unit":        {"window = 3\nmemory_budget = \"4 GigaBytes\"\n", 0o600, nil, nil, "gpujoind.toml:2: memory_budget: \"4 GigaBytes\" has an unknown unit"},
		"wrong type":        {"window = [1]\n", 0o600, nil, nil, "gpujoind.toml:1: window:"},
		"no duration":       {"stop_timeout = 30\n", 0o600, nil, nil, "gpujoind.toml:1: stop_timeout:"},
		"others may write":  {"window = 3\n", 0o666, nil, nil, "only its owner can write to, but its mode is 0666"},
		"missing":           {"", 0, nil, []string{"--config", "/nonexistent/x"}, "no such file"},
		"missing, by name":  {"", 0, []string{"GPUJOIND_CONFIG=/nonexistent/y"}, nil, "/nonexistent/y"},
		"unknown variable":  {"", 0, []string{"GPUJOIND_WINDWO=4"}, nil, "GPUJOIND_WINDWO: unknown setting"},
		"wrong variable":    {"", 0, []string{"GPUJOIND_WINDOW=four"}, nil, "GPUJOIND_WINDOW: window: \"four\""},
		"wrong flag":        {"", 0, nil, []string{"--log-level", "loud"}, "--log-level: log_level: \"loud\" is none of"},
		"number too small":  {"", 0, nil, []string{"--window", "1"}, "from 2 to 1024"},
		"size too large":    {"", 0, nil, []string{"--memory-budget", "99999999TB"}, "is too large"},
		"size without text": {"", 0, nil, []string{"--memory-budget", "GB"}, "is not a size"},
		"provider":          {"", 0, nil, []string{"--provider", "gpu"}, "--provider: provider: \"gpu\" is none of auto, cpu, cuda"},
		"relative plugin":   {"", 0, nil, []string{"--cuda-plugin", "./gpujoin-cuda"}, "is not an absolute path"},
		"short checksum":    {"", 0, nil, []string{"--cuda-checksum", "abcd"}, "is not a SHA-256"},
		"share of a GPU":    {"", 0, nil, []string{"--cuda-memory", "101%"}, "neither a size nor a percentage"},
		"no memory":         {"", 0, nil, []string{"--cuda-memory", "0"}, "neither a size nor a percentage"},
	} {
		_, err := load(t, c.file, c.mode, c.environ, c.args...)
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "4kB": 4096, "4 MB": 4 << 20, "1.5GiB": 3 << 29, "2tb": 2 << 40, " 25% ": 250, "100%": 1000, "7b": 7,
	} {
		if got, err := ParseSize(text, 1000); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "x", "1..2", "1 XB", "1e9", "NaN", "%"} {
		if got, err := ParseSize(text, 1000); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
	if _, err := ParseSize("5%", 0); err == nil {
		t.Error("a share of nothing")
	}
}

// TestFormatSize: sizes are whole numbers of units, and never more than they are.
func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 4096: "4kB", 10<<20 + 5: "10MB", 3 << 30: "3GB", 1<<30 + 1: "1024MB", 1500 << 10: "1500kB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
}
