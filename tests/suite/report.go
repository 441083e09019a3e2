package suite

import (
	"fmt"
	"io"
	"math"

	"gpujoin/tests/measure"
)

// Report prints the table of a suite and what the whole suite gains. It returns
// an error if rows differed.
func Report(w io.Writer, measured []*Measurement) error {
	kept := len(measured) > 0 && measured[0].AutoKept != nil
	rows := []string{"query\tnative ms\toffloaded ms\tratio\tautomatic ms\tratio\tDuckDB ms\tjoins offloaded\tautomatic\tblocks\tautomatic\trows\tequal"}
	if kept {
		rows[0] += "\tkept\tautomatic, kept"
	}
	different := 0
	for _, m := range measured {
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%v",
			m.Query, ms(m.NativeMs), ms(m.OffloadMs), ratio(m.NativeMs, m.OffloadMs), ms(m.AutoMs), ratio(m.NativeMs, m.AutoMs),
			ms(m.DuckDBMs), m.OffloadedJoins, m.AutoJoins, m.Blocks, m.AutoBlocks, m.Rows, m.Equal))
		if kept {
			rows[len(rows)-1] += fmt.Sprintf("\t%v\t%v", m.Kept, m.AutoKept)
		}
		if !m.Equal {
			different++
		}
	}
	if err := measure.Table(w, rows...); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, summarise(measured)); err != nil {
		return err
	}
	if different == 0 {
		return nil
	}
	for _, m := range measured {
		if !m.Equal {
			fmt.Fprintf(w, "query %d: %s\n", m.Query, m.Difference)
		}
	}
	return fmt.Errorf("%d queries returned other rows than the native plan", different)
}

func ratio(native, other float64) string {
	if native == 0 || other == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", native/other)
}

// summarise returns what the suite gains. A geometric mean is that of the
// queries that finished in both modes.
func summarise(measured []*Measurement) string {
	var auto, forced, duckDB geometricMean
	offloaded, slower, timedOut := 0, 0, 0
	for _, m := range measured {
		auto.add(m.NativeMs, m.AutoMs)
		forced.add(m.NativeMs, m.OffloadMs)
		duckDB.add(m.AutoMs, m.DuckDBMs)
		if m.AutoJoins+m.AutoBlocks > 0 {
			offloaded++
		}
		if m.NativeMs > 0 && m.AutoMs > m.NativeMs*1.05+20 {
			slower++
		}
		if len(m.TimedOut) > 0 {
			timedOut++
		}
	}
	text := fmt.Sprintf("geometric means: native/automatic %s, native/offloaded %s, automatic/DuckDB %s; %d of %d queries offloaded by automatic choice; "+
		"%d slower than native by more than 5 %% + 20 ms", auto, forced, duckDB, offloaded, len(measured), slower)
	if timedOut > 0 {
		text += fmt.Sprintf("; %d timed out in some mode", timedOut)
	}
	return text
}

type geometricMean struct {
	logarithms float64
	n          int
}

func (g *geometricMean) add(native, other float64) {
	if native > 0 && other > 0 {
		g.logarithms += math.Log(native / other)
		g.n++
	}
}

func (g geometricMean) String() string {
	if g.n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", math.Exp(g.logarithms/float64(g.n)))
}
