// Command sim repeats figures of the MG-Join paper in the simulator: make sim.
// Each row of its table is a value with a bar; it exits with 1 if a bar is
// missed. The bars are floors or exact counts, and no constant of the exchange
// was chosen to reach the paper's ratios: docs/several-gpus.md says why some
// differ from the paper's.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

func run() error {
	quick := flag.Bool("quick", false, "only the most telling rows, in a few seconds")
	sync := flag.Duration("sync", 50*time.Microsecond, "time of one synchronisation of all GPUs, for the centralised baseline")
	out := flag.String("json", filepath.Join("build", "sim.json"), "file for the results")
	flag.Parse()

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
