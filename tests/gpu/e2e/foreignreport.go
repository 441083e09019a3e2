package e2e

import (
	"fmt"
	"math"
	"os"

	"gpujoin/tests/measure"
)

// print writes a table of each stage. Other rows are an error, and foreign tables that were
// not read from their mirrors.
func (r *foreignRun) print() error {
	fmt.Printf("\n%s\n", r.describe())
	rows := []string{"stage\tdaemon\ts\trows\tdeleted\tmirrors\ton the GPU"}
	for _, m := range r.mirrors {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%.1f\t%d\t%d\t%d MB\t%d MB", m.Stage, m.Mode, m.Seconds, m.Rows, m.Dead, m.Bytes>>20, m.Device>>20))
	}
	if err := measure.Table(os.Stdout, rows...); err != nil {
		return err
	}
	wrong := 0
	for _, s := range r.stages() {
		n, err := r.printStage(s.name)
		if err != nil {
			return err
		}
		wrong += n
	}
	if wrong > 0 {
		return fmt.Errorf("%d queries return other rows, or do not read mirrors", wrong)
	}
	return nil
}

// printStage writes the table of one stage and returns how many queries were wrong.
func (r *foreignRun) printStage(stage string) (wrong int, err error) {
	rows := []string{"query\ttables\trows\tnative ms\tcores ms\tjob\tcuda ms\tjob\tfeed\tcores/cuda\tread on cores\ton CUDA\ton the GPU\tequal"}
	var notes []string
	product, measured := 0.0, 0
	for _, q := range r.results {
		if q.Stage != stage {
			continue
		}
		native := "-"
		if q.NativeMs > 0 {
			native = fmt.Sprintf("%.1f", q.NativeMs)
			product += math.Log(q.CPU.Ms / q.CUDA.Ms)
			measured++
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%v\t%v\t%d MB\t%v", q.Query, q.Tables, q.Rows, native, q.CPU.Ms, q.CPU.JoinMs,
			q.CUDA.Ms, q.CUDA.JoinMs, q.CUDA.FeedMs, q.CPU.Ms/q.CUDA.Ms, q.Read[0], q.Read[1], q.Device>>20, q.Equal))
		if q.CPU.Reason != "" || q.CUDA.Reason != "" {
			notes = append(notes, fmt.Sprintf("%s, %s: %s %s", q.Query, q.Tables, q.CPU.Reason, q.CUDA.Reason))
		}
		if note := q.wrong(); note != "" {
			notes = append(notes, fmt.Sprintf("%s, %s: %s", q.Query, q.Tables, note))
			wrong++
		}
	}
	if len(rows) == 1 {
		return 0, nil
	}
	fmt.Printf("\n%s\n", stage)
	if err := measure.Table(os.Stdout, rows...); err != nil {
		return wrong, err
	}
	if measured > 0 {
		fmt.Printf("cores/cuda over foreign tables alone, geometric mean of %d queries: %.2f\n", measured, math.Exp(product/float64(measured)))
	}
	for _, note := range notes {
		fmt.Println(note)
	}
	return wrong, nil
}

// wrong says what must not be; "": nothing.
func (q *foreignResult) wrong() string {
	if !q.Equal {
		return q.Difference
	}
	for _, read := range q.Read {
		switch {
		case read.Direct > 0:
			return fmt.Sprintf("%d foreign tables were read directly: %q", read.Direct, read.Why)
		case read.Mirrored == 0 && (q.Tables == placements[0].name || read.Kept+read.Fed == 0):
			return "no foreign table was read from its mirror"
		}
	}
	return ""
}
