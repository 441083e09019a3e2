package kept

import (
	"fmt"
	"slices"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Condition is what a condition costs over kept blocks: the least time with it, less the
// least time without it, on one core.
type Condition struct {
	Condition string
	Rows      int
	Ms        float64 // of the whole query
	WithoutMs float64 // of count(*) without the condition
	NsPerRow  float64
}

func (c *Condition) result() measure.Result {
	return measure.Result{Name: "condition: " + c.Condition, Engine: measure.Kept, Values: map[string]float64{
		"rows": float64(c.Rows), "least_ms": c.Ms, "least_ms_without": c.WithoutMs, "ns_per_row": c.NsPerRow}}
}

// conditions measures conditions in a daemon of one core.
func (b *bench) conditions() error {
	n := 3 * b.rows // so that a condition takes several milliseconds
	say("conditions: filling")
	err := b.exec(`create table conditions as select i::int4 as i4, (i * 7919 %% 1000003)::int8 as i8, (i %% 1000)::float8 / 7 as f8,
		date '2020-01-01' + (i %% 1000)::int as d, (i * 31 %% 100000)::numeric(12,2) as n, md5((i %% 100)::text) as t
		from generate_series(1::int8, %d) i`, n)
	if err == nil {
		err = b.ready("conditions")
	}
	if err != nil {
		return err
	}
	if err := b.startDaemon(harness.DaemonOptions{"cores": "1"}); err != nil {
		return err
	}
	rows := []string{"condition, 1 core\tms\twithout it\tns a row"}
	for _, c := range []string{
		"i4 < 500000", "i8 < 500000", "i8 between 100000 and 200000", "f8 < 70", "d < date '2021-06-01'", "n < 50000.5",
		"i4 in (1, 5, 9, 100, 1000)", "i4 < 500000 and i8 < 500000", "t = md5('7')", "t like 'a%'",
	} {
		with := "select count(*) from conditions where " + c
		const without = "select count(*) from conditions"
		for _, sql := range []string{with, without} {
			if err := b.keep(sql); err != nil {
				return err
			}
		}
		r := Condition{Condition: c, Rows: n}
		times, err := b.times(4*b.runs, way{always, with}, way{always, without})
		if err != nil {
			return err
		}
		r.Ms, r.WithoutMs = slices.Min(times[0]), slices.Min(times[1])
		r.NsPerRow = measure.Round((r.Ms-r.WithoutMs)*1e6/float64(n), 2)
		b.results = append(b.results, r.result())
		rows = append(rows, fmt.Sprintf("%s\t%.2f\t%.2f\t%.2f", c, r.Ms, r.WithoutMs, r.NsPerRow))
		say("%s: %.2f ns a row", c, r.NsPerRow)
	}
	return b.table(rows)
}
