// Package measure is what the benchmark programs share: medians, tables, and
// what was measured where.
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

// Median returns the middle value; of an even number, the mean of the middle
// two. It is 0 for none.
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

// Round rounds to digits after the point.
func Round(v float64, digits int) float64 {
	var r float64
	// strconv's rounding of decimals is exact; multiplying is not.
	if _, err := fmt.Sscanf(fmt.Sprintf("%.*f", digits, v), "%g", &r); err != nil {
		return v
	}
	return r
}

// TableText is what Table prints.
func TableText(rows ...string) (string, error) {
	var text strings.Builder
	err := Table(&text, rows...)
	return text.String(), err
}

// Table prints rows of tab-separated cells, aligned to the right.
func Table(w io.Writer, rows ...string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, row+"\t"); err != nil {
			return err
		}
	}
	return t.Flush()
}

// WriteJSON writes v, indented, whole or not at all.
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

// Circumstances says where, when and on what a measurement was made.
func Circumstances(root string) string {
	commit := "unknown"
	git := exec.Command("git", "-c", "safe.directory=*", "-C", root, "describe", "--always", "--dirty", "--exclude=*")
	if out, err := git.Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("%s, %d cores, %s; %s; commit %s",
		cpuModel(), runtime.NumCPU(), memory(), time.Now().UTC().Format("2006-01-02 15:04 UTC"), commit)
}

func cpuModel() string {
	return procField("/proc/cpuinfo", "model name", runtime.GOARCH)
}

func memory() string {
	var kb float64
	if _, err := fmt.Sscan(procField("/proc/meminfo", "MemTotal", ""), &kb); err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%.0f GiB", kb/(1<<20))
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
