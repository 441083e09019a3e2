package e2e

import (
	"fmt"
	"io"

	"gpujoin/joincore/costmodel"
	"gpujoin/tests/measure"
)

// document returns all results as those of a document.
func document(results []*result, divided []*phasesResult, faults []*faultResult) (list []measure.Result) {
	for _, r := range results {
		list = append(list, r.results()...)
	}
	for i, r := range divided {
		list = append(list, r.result(i))
	}
	for _, f := range faults {
		list = append(list, f.result())
	}
	return list
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
		for i, t := range r.modes() {
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

// modes are the times in the order of the modes.
func (r *result) modes() []*times {
	list := []*times{r.Native, r.CPU, r.CUDA}
	if r.Several != nil {
		list = append(list, r.Several)
	}
	return list
}

// slowerMs is how much a query may take longer with several GPUs than with one in any case:
// times of short queries differ by so much.
const slowerMs = 10

// printSeveral compares several GPUs for a job with one. A query that misses the bar is an
// error, unless another worker replaces that of GPUs, or a table is partly on the host, which is never faster.
func (w *world) printSeveral(out io.Writer, results []*result) error {
	if len(w.modes) < 4 || len(results) == 0 || w.modes[3].absent != "" {
		return nil
	}
	rows := []string{"query\tone GPU ms\tjoining\tseveral ms\tjoining\tseveral/one\tGPUs\tequal"}
	late := 0
	for _, r := range results {
		one, several := r.CUDA, r.Several
		if !measure.BarOf("gpu-e2e", "any query", "several/one").Met(several.Ms/one.Ms) && several.Ms > one.Ms+slowerMs {
			late++
		}
		rows = append(rows, fmt.Sprintf("%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%d\t%v", r.Query, one.Ms, one.JoinMs, several.Ms, several.JoinMs,
			several.Ms/one.Ms, max(several.Devices, 1), several.Equal))
	}
	fmt.Fprintln(out)
	if err := measure.Table(out, rows...); err != nil {
		return err
	}
	if late > 0 && w.plugin == "" && w.strategy != costmodel.Hybrid.String() {
		return fmt.Errorf("%d queries are slower with several GPUs than with one", late)
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
		fmt.Fprintf(out, "\n%s: %s in %.1f s, with up to %d GPUs for a job\n", f.Fault, verdict, f.Ms/1000, f.GPUs)
		for _, note := range f.Notes {
			fmt.Fprintf(out, "  %s\n", note)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d faults ended as they must not", failed)
	}
	return nil
}
