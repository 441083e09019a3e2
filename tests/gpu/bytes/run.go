// Package bytes compares the bytes that joins move through a GPU's memory, as NVIDIA's
// ncu counts them, with the model's: make bytes-gpu.
//
// ncu profiles "gpu bench" while it runs each join once, after one run to warm
// up. The kernels of the second run count. Fills by the driver are not kernels,
// so the initialisation of npj's table, which the model includes, is not
// counted.
package bytes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gpujoin/tests/measure"
)

// Run compares the joins that the arguments select and writes build/bytes-gpu.json. A
// join that moves too many bytes is an error.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p := profiler{program: self}
	flags.StringVar(&p.ncu, "ncu", "ncu", "NVIDIA's profiler")
	cases := flags.String("cases", "4B-2+2", "gpu bench's cases, by commas")
	algorithms := flags.String("algorithms", "auto", "gpu bench's algorithms, by commas")
	limit := flags.Float64("limit", 1.2, "most bytes that are counted for each of the model's")
	kernels := flags.Bool("kernels", false, "print what each kernel moved")
	out := flags.String("json", filepath.Join("build", "bytes-gpu.json"), "file for the results")
	if err := flags.Parse(args); err != nil {
		return err
	}

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
