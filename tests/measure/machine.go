package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what a measurement ran on.
type Machine struct {
	ID        string   `json:"id"` // the name of its files below bench/results
	CPU       string   `json:"cpu"`
	Cores     int      `json:"cores"`
	MemoryGiB float64  `json:"memory_gib"`
	GPUs      []string `json:"gpus"`
	Driver    string   `json:"driver,omitempty"` // of the GPUs
	Kernel    string   `json:"kernel"`
	// Load1Before is the load average of one minute before the measurement began; nil: not
	// known.
	Load1Before *float64 `json:"load1_before"`
}

// ThisMachine describes the machine, and its load now.
func ThisMachine() Machine {
	m := Machine{
		CPU: procField("/proc/cpuinfo", "model name", runtime.GOARCH), Cores: runtime.NumCPU(),
		MemoryGiB: Round(float64(MemoryBytes())/(1<<30), 0), GPUs: []string{}, Kernel: firstWord("/proc/sys/kernel/osrelease"),
	}
	if load, err := Load1(); err == nil {
		m.Load1Before = &load
	}
	files, err := filepath.Glob("/proc/driver/nvidia/gpus/*/information")
	if err != nil {
		files = nil // the pattern is right
	}
	for _, f := range files {
		m.GPUs = append(m.GPUs, procField(f, "Model", "unknown GPU"))
	}
	if len(files) > 0 {
		m.Driver = driver()
	}
	m.ID = MachineID(m.CPU, m.Cores, m.GPUs)
	return m
}

// driver returns the version of NVIDIA's driver, of a line such as "NVRM version: NVIDIA
// UNIX x86_64 Kernel Module  580.159.04  ...".
func driver() string {
	for _, word := range strings.Fields(procField("/proc/driver/nvidia/version", "NVRM version", "")) {
		if word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return "unknown"
}

// Load1 returns the load average of the last minute.
func Load1() (float64, error) {
	return strconv.ParseFloat(firstWord("/proc/loadavg"), 64)
}

var (
	// A processor's speed, and words that every name has.
	noise = regexp.MustCompile(`(?i)\((r|tm)\)|@.*$|\b(cpu|processor|nvidia|\d+-core|graphics|hbm3|80gb( hbm3)?|sxm\d?|pcie)\b`)
	gaps  = regexp.MustCompile(`[^a-z0-9]+`)
)

// MachineID returns a short name, such as intel-xeon-2c or intel-xeon-16c-h100: equal
// machines have equal names.
func MachineID(cpu string, cores int, gpus []string) string {
	short := func(name string) string {
		return strings.Trim(gaps.ReplaceAllString(strings.ToLower(noise.ReplaceAllString(name, " ")), "-"), "-")
	}
	id := fmt.Sprintf("%s-%dc", short(cpu), cores)
	if len(gpus) > 1 {
		id += fmt.Sprintf("-%dx", len(gpus))
	}
	if len(gpus) > 0 {
		id += "-" + short(gpus[0])
	}
	return strings.TrimPrefix(id, "-")
}

// String describes the machine in a few words.
func (m Machine) String() string {
	text := fmt.Sprintf("%s, %d cores, %g GiB", m.CPU, m.Cores, m.MemoryGiB)
	if len(m.GPUs) > 0 {
		text += ", " + strings.Join(m.GPUs, ", ")
	}
	if m.Driver != "" {
		text += ", driver " + m.Driver
	}
	return text
}

// MemoryBytes returns the machine's memory in bytes, 0 if it is unknown.
func MemoryBytes() int64 {
	var kb int64
	if _, err := fmt.Sscan(procField("/proc/meminfo", "MemTotal", ""), &kb); err != nil {
		return 0
	}
	return kb << 10
}

func firstWord(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	word, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte(" "))
	return string(word)
}

func procField(path, name, otherwise string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(data)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}
