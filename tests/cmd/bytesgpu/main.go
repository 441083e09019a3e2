// Command bytesgpu compares the bytes that joins move through a GPU's memory,
// as NVIDIA's ncu counts them, with the model's: make bytes-gpu.
//
// ncu profiles bench-gpu while it runs each join once, after one run to warm
// up. The kernels of the second run count. Fills by the driver are not kernels,
// so the initialisation of npj's table, which the model includes, is not
// counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"gpujoin/tests/measure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bytes-gpu:", err)
		os.Exit(1)
	}
}

// sibling returns the path of a program in this program's directory.
func sibling(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

func run(ctx context.Context) error {
	var p profiler
	flag.StringVar(&p.ncu, "ncu", "ncu", "NVIDIA's profiler")
	flag.StringVar(&p.bench, "bench", sibling("bench-gpu"), "program that runs the joins")
	cases := flag.String("cases", "4B-2+2", "bench-gpu's cases, by commas")
	algorithms := flag.String("algorithms", "auto", "bench-gpu's algorithms, by commas")
	limit := flag.Float64("limit", 1.2, "most bytes that are counted for each of the model's")
	kernels := flag.Bool("kernels", false, "print what each kernel moved")
	out := flag.String("json", filepath.Join("build", "bytes-gpu.json"), "file for the results")
	flag.Parse()

	var joins []*join
	for _, c := range strings.Split(*cases, ",") {
		for _, a := range strings.Split(*algorithms, ",") {
			j, err := p.count(ctx, c, a)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c, a, err)
			}
			joins = append(joins, j)
		}
	}
	rows := []string{"case\talgorithm\tlaunches\tmodel GB\tcounted GB\tread\twritten\tcounted/model"}
	above := 0
	for _, j := range joins {
		row := fmt.Sprintf("%s\t%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.3f", j.Case, j.Algorithm, len(j.Kernels),
			gb(j.Model), gb(j.Read+j.Written), gb(j.Read), gb(j.Written), j.Ratio)
		if j.Ratio > *limit {
			above++
			row += " above " + fmt.Sprint(*limit)
		}
		rows = append(rows, row)
		for _, k := range j.Kernels {
			if *kernels {
				rows = append(rows, fmt.Sprintf("\t%s\t\t\t%.2f\t%.2f\t%.2f\t", k.Name, gb(k.Read+k.Written), gb(k.Read), gb(k.Written)))
			}
		}
	}
	if err := errors.Join(measure.Table(os.Stdout, rows...), measure.WriteJSON(*out, joins)); err != nil {
		return err
	}
	if above > 0 {
		return fmt.Errorf("%d of %d joins move more than %v x the model's bytes", above, len(joins), *limit)
	}
	return nil
}

func gb(bytes int64) float64 { return float64(bytes) / 1e9 }
