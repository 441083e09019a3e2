// Package measure is shared by the benchmark programs: medians, tables, and the
// circumstances of a measurement.
package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Median returns the middle value, or the mean of the middle two; 0 for no values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// Ms converts to milliseconds, rounded to 1/100.
func Ms(d time.Duration) float64 { return Round(float64(d.Microseconds())/1000, 2) }

// Round rounds v to the given number of decimal places.
func Round(v float64, digits int) float64 {
	var r float64
	// strconv rounds decimals exactly; multiplication does not.
	if _, err := fmt.Sscanf(fmt.Sprintf("%.*f", digits, v), "%g", &r); err != nil {
		return v
	}
	return r
}

// TableText returns the text that Table prints.
func TableText(rows ...string) (string, error) {
	var text strings.Builder
	err := Table(&text, rows...)
	return text.String(), err
}

// Table prints rows of tab-separated cells, right-aligned.
func Table(w io.Writer, rows ...string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, row+"\t"); err != nil {
			return err
		}
	}
	return t.Flush()
}

// WriteJSON writes v, indented, atomically.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// Circumstances describes where, when and on what a measurement of the
// repository at root was made.
func Circumstances(root string) string {
	commit := "unknown"
	git := exec.Command("git", "-c", "safe.directory=*", "-C", root, "describe", "--always", "--dirty", "--exclude=*")
	if out, err := git.Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	return CircumstancesOf(commit)
}

// builtFrom is the commit that the program was built from; the build sets it.
var builtFrom = "unknown"

// CircumstancesBuilt is Circumstances for the commit that this program was built from.
func CircumstancesBuilt() string { return CircumstancesOf(builtFrom) }

// CircumstancesOf is Circumstances for a known commit.
func CircumstancesOf(commit string) string {
	machine := fmt.Sprintf("%s, %d cores, %s", cpuModel(), runtime.NumCPU(), memory())
	if gpu := gpus(); gpu != "" {
		machine += ", " + gpu
	}
	return fmt.Sprintf("%s; %s; commit %s", machine, time.Now().UTC().Format("2006-01-02 15:04 UTC"), commit)
}

// gpus returns the names of NVIDIA's GPUs and their driver's version from the
// driver's files.
func gpus() string {
	files, err := filepath.Glob("/proc/driver/nvidia/gpus/*/information")
	if err != nil || len(files) == 0 {
		return ""
	}
	var models []string
	for _, f := range files {
		models = append(models, procField(f, "Model", "unknown GPU"))
	}
	// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ..."
	driver := "unknown"
	for _, word := range strings.Fields(procField("/proc/driver/nvidia/version", "NVRM version", "")) {
		if word[0] >= '0' && word[0] <= '9' {
			driver = word
			break
		}
	}
	return strings.Join(models, ", ") + ", driver " + driver
}

func cpuModel() string {
	return procField("/proc/cpuinfo", "model name", runtime.GOARCH)
}

func memory() string {
	bytes := MemoryBytes()
	if bytes == 0 {
		return "memory unknown"
	}
	return fmt.Sprintf("%.0f GiB", float64(bytes)/(1<<30))
}

// MemoryBytes returns the machine's memory in bytes, 0 if it is unknown.
func MemoryBytes() int64 {
	var kb int64
	if _, err := fmt.Sscan(procField("/proc/meminfo", "MemTotal", ""), &kb); err != nil {
		return 0
	}
	return kb << 10
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
