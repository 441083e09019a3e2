package gje

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Time is the time of one of their algorithms for a case, or the reason why it
// is missing.
type Time struct {
	Case      string
	Algorithm string // bench-gpu's name; empty: the note is about the whole case
	MS        float64
	Note      string
}

// Run runs all of their algorithms once on each case, for at most limit, with the
// executables of a directory, and reports progress. A failure becomes a note.
func Run(ctx context.Context, directory string, limit time.Duration, cases []Case, progress io.Writer) (times []Time, err error) {
	directory, err = filepath.Abs(directory)
	if err != nil {
		return nil, err
	}
	var possible []Case
	for _, c := range cases {
		if c.check() == nil {
			possible = append(possible, c)
		}
	}
	folder, err := newFolder(room(possible))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for _, c := range cases {
		if err := c.check(); err != nil {
			times = append(times, Time{Case: c.Name, Note: err.Error()})
			continue
		}
		for _, a := range algorithms {
			if err := ctx.Err(); err != nil {
				return times, err
			}
			t := Time{Case: c.Name, Algorithm: a.ours}
			start := time.Now()
			if t.MS, err = execute(ctx, directory, limit, &c, a.theirs, folder); err != nil {
				t.Note = err.Error()
			}
			fmt.Fprintf(progress, "gje: %s, %s: %.1f ms; %.1f s in all %s\n", t.Case, t.Algorithm, t.MS, time.Since(start).Seconds(), t.Note)
			times = append(times, t)
		}
	}
	return times, nil
}

// execute runs an executable and returns the ms that it prints.
func execute(ctx context.Context, directory string, limit time.Duration, c *Case, algorithm, folder string) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("longer than %v", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(directory, c.program()), c.arguments(algorithm, folder)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = folder, environment(os.Environ(), directory), 5*time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return 0, fmt.Errorf("%w: %s", err, lastLine(output.Bytes()))
	}
	return parse(output.Bytes(), c)
}

// environment returns the environment of an executable: it finds libraries next to it,
// generates data with as many threads as it has cores (waiting threads spin), and loads
// its kernels before it times them.
func environment(inherited []string, directory string) []string {
	env := slices.Clone(inherited)
	path := directory
	for _, e := range inherited {
		if name, value, _ := strings.Cut(e, "="); name == "LD_LIBRARY_PATH" && value != "" {
			path += ":" + value
		}
	}
	return append(env, "LD_LIBRARY_PATH="+path, fmt.Sprint("OMP_NUM_THREADS=", runtime.GOMAXPROCS(0)), "CUDA_MODULE_LOADING=EAGER")
}
