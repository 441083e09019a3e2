package suite

import (
	"fmt"
	"slices"
	"strings"

	"gpujoin/tests/measure"
)

// Name is that of a query's results.
func Name(query int) string { return fmt.Sprintf("q%d", query) }

// engines are those of a measurement, in the order of their results: the modes, DuckDB, and
// what else ran.
func (m *Measurement) engines() []string {
	list := []string{measure.Postgres, measure.Gpujoin, measure.Forced, measure.DuckDB}
	return append(list, m.further()...)
}

// further are the engines that only run if asked for.
func (m *Measurement) further() (list []string) {
	for n := range mostWorkers + 1 {
		if len(m.Times[measure.Workers(n)]) > 0 || slices.Contains(m.TimedOut, measure.Workers(n)) {
			list = append(list, measure.Workers(n))
		}
	}
	if len(m.Times[measure.PgScanner]) > 0 {
		list = append(list, measure.PgScanner)
	}
	return list
}

// Results returns the measurement as results of a document, one for each engine that ran.
func (m *Measurement) Results() (list []measure.Result) {
	for _, engine := range m.engines() {
		timedOut := slices.Contains(m.TimedOut, engine)
		if len(m.Times[engine]) == 0 && !timedOut {
			continue
		}
		r := measure.Result{Name: Name(m.Query), Engine: engine, Ms: m.Times[engine], Values: map[string]float64{}, Texts: map[string]string{}}
		if timedOut {
			r.Ms, r.Texts["timed out"] = nil, "yes"
		}
		if engine != measure.DuckDB && engine != measure.PgScanner { // whose rows are not compared
			r.Rows, r.Equal = m.Rows, &m.Equal
		}
		if m.Difference != "" && strings.HasPrefix(m.Difference, engine+":") {
			r.Texts["difference"] = measure.OneLine(m.Difference)
		}
		if e, ok := m.Executed[engine]; ok {
			r.Values["joins"], r.Values["blocks"] = float64(e.Joins), float64(e.Blocks)
			if e.Joins+e.Blocks > 0 {
				r.Values["explain_ms"] = e.Ms
				r.Values["feed_ms"], r.Values["join_ms"], r.Values["return_ms"] = e.Phases.Feed, e.Phases.Join, e.Phases.Return
			}
		}
		if k := m.Kept[engine]; k != nil {
			r.Values["blocks_kept"], r.Values["blocks_fed"], r.Values["runs_before"] = float64(k.Blocks), float64(k.Fed), float64(k.Runs)
			if len(k.Why) > 0 {
				r.Texts["fed"] = strings.Join(k.Why, ", ")
			}
		}
		list = append(list, r)
	}
	return list
}
