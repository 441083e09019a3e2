package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/oracle"
)

// Check runs a plan with batches of the given rows, compares the result with the oracle's,
// and checks that the run leaves nothing allocated. It returns the run's statistics.
func Check(t *testing.T, name string, p device.Provider, plan *joincore.Plan, inputs []*joincore.Relation, batch int, opt exec.Options) joincore.Stats {
	t.Helper()
	want, err := oracle.Run(plan, inputs)
	if err != nil {
		t.Fatal(err)
	}
	mem, sink := &Arena{}, NewCollector(plan, batch)
	var stats joincore.Stats
	err = Run(t.Context(), p, plan, inputs, mem, sink, opt, &stats)
	if beyond8Bytes(plan, err) {
		mem.empty(t, name)
		sink.closed(t, name)
		return stats
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", name, err, Show(plan.Root), describe(inputs))
	}
	if diff := difference(want, sink.rows); diff != "" {
		t.Fatalf("%s\n%s%s\n%s", name, Show(plan.Root), diff, describe(inputs))
	}
	mem.empty(t, name)
	sink.closed(t, name)
	if stats.RowsOut != int64(sink.n) {
		t.Fatalf("%s: %d rows counted, %d emitted", name, stats.RowsOut, sink.n)
	}
	return stats
}

// Checked checks a plan that is valid.
func Checked(t testing.TB, plan *joincore.Plan) *joincore.Checked {
	t.Helper()
	checked, err := joincore.Check(plan)
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// Run checks a plan and executes it.
func Run(ctx context.Context, p device.Provider, plan *joincore.Plan, inputs []*joincore.Relation, mem joincore.Memory, sink joincore.Sink,
	opt exec.Options, stats *joincore.Stats) error {
	checked, err := joincore.Check(plan)
	if err != nil {
		return err
	}
	return exec.Run(ctx, p, checked, inputs, mem, sink, opt, stats)
}

// Difference describes how the collected rows differ from those wanted; "" if they do
// not.
func (c *Collector) Difference(want oracle.Rows) string { return difference(want, c.rows) }

// Result returns the collected rows.
func (c *Collector) Result() oracle.Rows { return c.rows }

func difference(want, got oracle.Rows) string {
	var b strings.Builder
	lines := 0
	for _, side := range []struct {
		sign      string
		rows, not oracle.Rows
	}{{"missing", want, got}, {"extra", got, want}} {
		for row, n := range side.rows {
			if n > side.not[row] && lines < 20 {
				lines++
				fmt.Fprintf(&b, "%s %d of %x\n", side.sign, n-side.not[row], row)
			}
		}
	}
	return b.String()
}

func describe(inputs []*joincore.Relation) string {
	var b strings.Builder
	for i, r := range inputs {
		if r.Rows() > 40 {
			continue
		}
		for _, s := range r.Segments {
			for row := range s.Rows {
				fmt.Fprintf(&b, "input %d row %d:", i, row)
				for j := range r.Columns {
					value, null := oracle.ValueAt(r.Columns[j], &s.Columns[j], row)
					if null {
						b.WriteString(" NULL")
					} else {
						fmt.Fprintf(&b, " %x", value)
					}
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// beyond8Bytes reports whether a provider may refuse a plan while it executes it: one that
// keeps the least, the greatest and squares of integers of 16 bytes in 8.
func beyond8Bytes(plan *joincore.Plan, err error) bool {
	if !errors.Is(err, joincore.ErrUnsupported) {
		return false
	}
	checked, err := joincore.Check(plan)
	if err != nil {
		return false
	}
	for _, a := range joincore.Aggregates(plan.Root) {
		for _, f := range a.Functions {
			switch f.Kind {
			case joincore.Min, joincore.Max, joincore.SumOfSquares:
				if t, err := joincore.ValueType(f.Arg, checked.Schema().Column); err == nil && t.Width == 16 {
					return true
				}
			}
		}
	}
	return false
}
