package suite

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gpujoin/tests/measure"
)

// Report prints the table of a suite and what the whole suite gains. It returns
// an error if rows differed.
func Report(w io.Writer, measured []*Measurement) error {
	kept, further := false, []string(nil)
	for _, m := range measured {
		kept = kept || len(m.Kept) > 0
		for _, engine := range m.further() {
			if !slices.Contains(further, engine) {
				further = append(further, engine)
			}
		}
	}
	rows := []string{"query\tnative ms\toffloaded ms\tratio\tautomatic ms\tratio\tDuckDB ms"}
	for _, engine := range further {
		rows[0] += "\t" + strings.Replace(engine, measure.Postgres+" ", "native ", 1) + " ms"
	}
	rows[0] += "\tjoins offloaded\tautomatic\tblocks\tautomatic\trows\tequal"
	if kept {
		rows[0] += "\tkept\tautomatic, kept"
	}
	different := 0
	for _, m := range measured {
		native, forced, auto := m.Ms(measure.Postgres), m.Ms(measure.Forced), m.Ms(measure.Gpujoin)
		row := fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%s", m.Query, ms(native), ms(forced), ratio(native, forced), ms(auto), ratio(native, auto), ms(m.Ms(measure.DuckDB)))
		for _, engine := range further {
			row += "\t" + ms(m.Ms(engine))
		}
		f, a := m.Executed[measure.Forced], m.Executed[measure.Gpujoin]
		row += fmt.Sprintf("\t%d\t%d\t%d\t%d\t%d\t%v", f.Joins, a.Joins, f.Blocks, a.Blocks, m.Rows, m.Equal)
		if kept {
			row += fmt.Sprintf("\t%v\t%v", m.Kept[measure.Forced], m.Kept[measure.Gpujoin])
		}
		rows = append(rows, row)
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
	var auto, forced, duckDB measure.GeometricMean
	offloaded, slower, timedOut := 0, 0, 0
	for _, m := range measured {
		native, automatic := m.Ms(measure.Postgres), m.Ms(measure.Gpujoin)
		auto.Add(native, automatic)
		forced.Add(native, m.Ms(measure.Forced))
		duckDB.Add(automatic, m.Ms(measure.DuckDB))
		if e := m.Executed[measure.Gpujoin]; e.Joins+e.Blocks > 0 {
			offloaded++
		}
		if native > 0 && automatic > native*1.05+20 {
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
