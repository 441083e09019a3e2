package bytes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// profiler counts the bytes of joins that the program's subcommand bench runs.
type profiler struct{ ncu, program string }

// join is one join's entry in build/bytes-gpu.json. Sizes are bytes.
type join struct {
	Case      string   `json:"case"`
	Algorithm string   `json:"algorithm"`
	Model     int64    `json:"model"`
	Read      int64    `json:"read"`
	Written   int64    `json:"written"`
	Ratio     float64  `json:"ratio"` // counted to modelled
	Kernels   []kernel `json:"kernels"`
}

// rounds is the number of times that bench runs a join with -repeats 1.
const rounds = 2

// count runs one join under ncu. Caches and clocks are not reset between kernels.
func (p profiler) count(ctx context.Context, name, algorithm string) (*join, error) {
	if _, err := exec.LookPath(p.ncu); err != nil {
		return nil, fmt.Errorf("%w; it comes with a CUDA toolkit", err)
	}
	dir, err := os.MkdirTemp("", "bytes-gpu-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	counted, timed := filepath.Join(dir, "ncu.csv"), filepath.Join(dir, "bench.json")
	cmd := exec.CommandContext(ctx, p.ncu,
		"--clock-control", "none", "--cache-control", "none", "--metrics", readMetric+","+writtenMetric, "--kernel-name", "regex:^gj_",
		"--csv", "--page", "raw", "--log-file", counted,
		p.program, "bench", "-cases", name, "-algorithms", algorithm, "-repeats", "1", "-json", timed)
	if out, err := cmd.CombinedOutput(); err != nil {
		said, _ := os.ReadFile(counted) // ncu's own error message, if there is one
		return nil, fmt.Errorf("%w\n%s%s", err, out, said)
	}
	j, launches, err := modelled(timed)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(counted)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := parse(f)
	if err != nil {
		return nil, err
	}
	if launches == 0 || len(all) != rounds*launches {
		return nil, fmt.Errorf("ncu saw %d kernels in place of %d times %d", len(all), rounds, launches)
	}
	j.Kernels = all[(rounds-1)*launches:]
	for _, k := range j.Kernels {
		j.Read += k.Read
		j.Written += k.Written
	}
	j.Ratio = float64(j.Read+j.Written) / float64(j.Model)
	return j, nil
}

// modelled reads bench's output for its only join.
func modelled(path string) (j *join, launches int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	var results []struct {
		Case, Algorithm string
		Launches        int
		Bytes           int64
	}
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	if len(results) != 1 || results[0].Bytes <= 0 {
		return nil, 0, errors.New("gpu bench has no bytes of one join")
	}
	r := results[0]
	return &join{Case: r.Case, Algorithm: r.Algorithm, Model: r.Bytes}, r.Launches, nil
}
