// Package sim repeats figures of the MG-Join paper in the simulator: make sim. Each row
// of its table is a value with a bar. The bars are floors or exact counts, and no
// constant of the exchange was chosen to reach the paper's ratios: docs/internals/multi-gpu.md
// says why some differ from the paper's.
package sim

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Run simulates, prints the rows and writes them to a file. A missed bar is an error.
func Run(_ context.Context, flags *flag.FlagSet, args []string) error {
	quick := flags.Bool("quick", false, "only the most telling rows, in a few seconds")
	sync := flags.Duration("sync", 50*time.Microsecond, "time of one synchronisation of all GPUs, for the centralised baseline")
	out := flags.String("json", filepath.Join("build", "sim.json"), "file for the results")
	if err := flags.Parse(args); err != nil {
		return err
	}

	begin := time.Now()
	rows := all(newLab(*sync), *quick)
	missed := 0
	for _, r := range rows {
		if !r.Pass {
			missed++
		}
	}
	text, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*out), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(*out, append(text, '\n'), 0o644); err != nil {
		return err
	}
	show(rows)
	fmt.Printf("%d rows, %d missed their bar, %.0f s\n", len(rows), missed, time.Since(begin).Seconds())
	if missed > 0 {
		return fmt.Errorf("%d bars were missed", missed)
	}
	return nil
}
