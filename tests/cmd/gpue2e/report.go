package main

import (
	"fmt"
	"io"

	"gpujoin/tests/measure"
)

// document is build/gpu-e2e.json.
func (w *world) document(results []*result, divided []*phasesResult, faults []*faultResult) any {
	return map[string]any{"circumstances": w.describe(), "results": results, "phases": divided, "faults": faults}
}

// print writes the table, queries that did not run on the intended provider, and
// differences; a difference is an error.
func (w *world) print(out io.Writer, results []*result) error {
	fmt.Fprintf(out, "\n%s\n", w.describe())
	for _, m := range w.modes {
		if m.absent != "" {
			fmt.Fprintf(out, "%s did not run: %s\n", m.name, m.absent)
		}
	}
	if len(results) == 0 {
		return nil
	}
	rows := []string{"query\trows\tnative ms\tcpu ms\tfeeding\tjoining\tcuda ms\tfeeding\tjoining\tnative/cuda\tjoins\tequal"}
	for _, r := range results {
		rows = append(rows, fmt.Sprintf("%s\t%d\t%.1f\t%s\t%s\t%s\t%d\t%v", r.Query, r.Rows, r.Native.Ms,
			r.CPU.cells(), r.CUDA.cells(), r.CUDA.ratio(r.Native), max(r.CPU.Joins, r.CUDA.Joins), r.CPU.Equal && r.CUDA.Equal))
	}
	if err := measure.Table(out, rows...); err != nil {
		return err
	}
	fmt.Fprintln(out, "cpu and cuda are forced: all joins that can run outside of the server do, also those that the planner would leave in it")
	different := 0
	for _, r := range results {
		for i, t := range []*times{r.Native, r.CPU, r.CUDA} {
			name := w.modes[i].name
			if t.Reason != "" && w.modes[i].absent == "" {
				fmt.Fprintf(out, "%s, %s: %s\n", r.Query, name, t.Reason)
			}
			if !t.Equal {
				different++
				fmt.Fprintf(out, "%s, %s: %s\n", r.Query, name, t.Difference)
			}
		}
	}
	if different > 0 {
		return fmt.Errorf("%d times other rows than the native plan's", different)
	}
	return nil
}

// cells are the median, and the percentages of feeding and joining in one run.
// They overlap with each other and with the rest of the plan.
func (t *times) cells() string {
	if t.Ms == 0 {
		return "-\t-\t-"
	}
	share := func(ms float64) string {
		if t.Joins == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f %%", 100*ms/t.ExplainMs)
	}
	return fmt.Sprintf("%.1f\t%s\t%s", t.Ms, share(t.FeedMs), share(t.JoinMs))
}

func (t *times) ratio(native *times) string {
	if t.Ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", native.Ms/t.Ms)
}

// printFaults reports how each fault ended; a failed one is an error.
func printFaults(out io.Writer, faults []*faultResult) error {
	failed := 0
	for _, f := range faults {
		verdict := "passed"
		if !f.Passed {
			verdict = "FAILED"
			failed++
		}
		fmt.Fprintf(out, "\n%s: %s in %.1f s\n", f.Fault, verdict, f.Ms/1000)
		for _, note := range f.Notes {
			fmt.Fprintf(out, "  %s\n", note)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d faults ended as they must not", failed)
	}
	return nil
}
