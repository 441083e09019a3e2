package report

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gpujoin/tests/measure"
)

// Comments around a region, a part of a page that results are written into.
const (
	beginning = "<!-- results:%s -->"
	end       = "<!-- results:end -->"
)

// regions returns the texts that pages take from results, by page and by the region's name.
func (p page) regions() map[string]map[string]string {
	tpch, tpcds := p.all.newest("tpch-kept-sf1"), p.all.newest("tpcds-kept-sf1")
	return map[string]map[string]string{
		"README.md":           {"begin": "\n" + p.readme(), "tpcds": complexQueries(tpcds)},
		"docs/faq.md":         {"duckdb": duckDB(tpch, tpcds)},
		"docs/limitations.md": {"planning": planning(p.all.newest("bench-join")), "slower": slower(tpcds)},
		"docs/gpu.md":         {"gpu": "\n" + p.gpu()},
	}
}

// fill returns a page with its regions replaced.
func fill(root, name string, regions map[string]string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	text := string(data)
	for _, region := range slices.Sorted(maps.Keys(regions)) {
		begin := fmt.Sprintf(beginning, region)
		before, rest, found := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			return nil, fmt.Errorf("%s has no %s with %s behind it", name, begin, end)
		}
		text = before + begin + regions[region] + end + after
	}
	return []byte(text), nil
}

// when says of which dates and commits documents are.
func when(documents ...*measure.Document) string {
	var list []string
	for _, d := range documents {
		list = append(list, fmt.Sprintf("%s, commit %s", d.Date.Format("2006-01-02"), d.Commit))
	}
	return strings.Join(slices.Compact(list), " and ")
}

// times says how many times as long one engine took as another one.
func times(d *measure.Document, engine, than string) string {
	return fmt.Sprintf("%.1f times as long", compare(d, engine, d, than).mean)
}

// complexQueries compares with PostgreSQL and DuckDB over TPC-DS.
func complexQueries(d *measure.Document) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("gpujoin took %s as DuckDB, and PostgreSQL %s as gpujoin (geometric means; %s)",
		times(d, measure.Gpujoin, measure.DuckDB), times(d, measure.Postgres, measure.Gpujoin), when(d))
}

// duckDB compares with DuckDB over both suites.
func duckDB(tpch, tpcds *measure.Document) string {
	if tpch == nil || tpcds == nil {
		return ""
	}
	return fmt.Sprintf("Over TPC-H at scale factor 1 and kept columns, gpujoin took %.2f of DuckDB's time; over TPC-DS %s (geometric means; %s)",
		compare(tpch, measure.Gpujoin, tpch, measure.DuckDB).mean, times(tpcds, measure.Gpujoin, measure.DuckDB), when(tpch, tpcds))
}

// A query is slower if it takes longer by more than both of these.
const (
	slowerPart = 1.05
	slowerMs   = 20
)

// slower counts the queries for which the planner has chosen wrongly.
func slower(d *measure.Document) string {
	if d == nil {
		return ""
	}
	all, slow := 0, 0
	for _, name := range d.Names() {
		native, chosen := d.Find(name, measure.Postgres), d.Find(name, measure.Gpujoin)
		if native == nil || chosen == nil || len(native.Ms) == 0 || len(chosen.Ms) == 0 {
			continue
		}
		all++
		if n, c := native.Median(), chosen.Median(); c > n*slowerPart && c > n+slowerMs {
			slow++
		}
	}
	return fmt.Sprintf("Of %d queries of TPC-DS over kept columns, %d took longer than natively by more than 5 %% and %d ms (%s)", all, slow, slowerMs, when(d))
}

// planning says how much longer planning takes with the library. Of the queries that stay
// native, the one with the greatest difference counts.
func planning(d *measure.Document) string {
	if d == nil {
		return ""
	}
	us := func(name string) (float64, bool) {
		r := d.Find(name, measure.Gpujoin)
		if r == nil {
			return 0, false
		}
		value, found := r.Values["us"]
		return value, found
	}
	chain, hasChain := us("plan-10way")
	star, hasStar := us("plan-star8")
	native, hasNative := math.Inf(-1), true
	for _, name := range []string{"plan-rejected", "plan-rejected-type", "plan-rejected-cost"} {
		value, found := us(name)
		native, hasNative = max(native, value), hasNative && found
	}
	if !hasChain || !hasStar || !hasNative {
		return ""
	}
	return fmt.Sprintf("Planning takes %.0f µs longer for a chain of ten tables, %.0f µs for a star of eight, and at most %.0f µs for queries that stay native (%s)",
		chain, star, native, describe(d))
}
