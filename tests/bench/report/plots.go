package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpujoin/tests/measure"
)

// series is an engine of a document in a plot.
type series struct {
	entry
	d      *measure.Document
	engine string
}

// tpchSeries are the engines of TPC-H that were measured. fed and kept are the documents
// without and with kept columns; one of them may be nil.
func tpchSeries(fed, kept *measure.Document) (list []series) {
	base := fed
	if base == nil {
		base = kept
	}
	add := func(name, colour string, d *measure.Document, engine string) {
		if d == nil {
			return
		}
		if slices.ContainsFunc(d.Results, func(r measure.Result) bool { return r.Engine == engine && len(r.Ms) > 0 }) {
			list = append(list, series{entry{name: name, colour: colour}, d, engine})
		}
	}
	add("PostgreSQL", blue, base, measure.Postgres)
	add("DuckDB on PostgreSQL's tables", violet, base, measure.PgScanner)
	add("gpujoin, tables read", orange, fed, measure.Gpujoin)
	add("gpujoin, kept columns", red, kept, measure.Gpujoin)
	add("DuckDB, its own copy", green, base, measure.DuckDB)
	return list
}

func legendOf(list []series) (entries []entry) {
	for _, s := range list {
		entries = append(entries, s.entry)
	}
	return entries
}

// plotTPCH draws a bar for each query and engine, on a logarithmic scale.
func plotTPCH(list []series) string {
	const width, height, left, right, top, bottom = 960, 360, 74.0, 10.0, 40.0, 40.0
	c := newCanvas(width, height, "Times of the queries of TPC-H in ms, by engine")
	c.legend(left, 18, legendOf(list))
	names := list[0].d.Names()
	var values []float64
	for _, s := range list {
		for _, name := range names {
			if r := s.d.Find(name, s.engine); r != nil && len(r.Ms) > 0 {
				values = append(values, r.Median())
			}
		}
	}
	y := newAxis(values, height-bottom, top)
	drawAxis(c, y, left, width-right, "ms")
	group := (width - left - right) / float64(len(names))
	bar := math.Floor(group * 0.8 / float64(len(list)))
	for i, name := range names {
		at := left + group*float64(i) + (group-bar*float64(len(list)))/2
		for j, s := range list {
			if r := s.d.Find(name, s.engine); r != nil && len(r.Ms) > 0 {
				p := y.at(r.Median())
				c.rect(at+bar*float64(j), p, max(bar-1, 1), height-bottom-p, s.colour)
			}
		}
		c.text(at+bar*float64(len(list))/2, height-bottom+16, "middle", strings.TrimPrefix(name, "q"))
	}
	c.text(left+(width-left-right)/2, height-6, "middle", "query of TPC-H")
	return c.String()
}

// drawAxis draws the lines and labels of a vertical logarithmic axis.
func drawAxis(c *canvas, y axis, left, right float64, unit string) {
	for _, v := range y.decades() {
		c.line(left, y.at(v), right, y.at(v), gridColour)
		c.text(left-6, y.at(v)+4, "end", fmt.Sprintf("%g %s", v, unit))
	}
}

// point is a join of some rows.
type point struct{ rows, ms float64 }

// points returns the joins of an engine, by their rows.
func (s series) points() (list []point) {
	for _, r := range s.d.Results {
		if rows := r.Values["input_rows"]; r.Engine == s.engine && rows > 0 && len(r.Ms) > 0 {
			list = append(list, point{rows, r.Median()})
		}
	}
	slices.SortFunc(list, func(a, b point) int { return int(a.rows - b.rows) })
	return list
}

// rowSeries are the engines that joined tables of several sizes.
func rowSeries(fed, kept *measure.Document) (list []series) {
	add := func(name, colour string, dashed bool, d *measure.Document, engine string) {
		if s := (series{entry{name, colour, dashed}, d, engine}); d != nil && len(s.points()) > 1 {
			list = append(list, s)
		}
	}
	add("PostgreSQL", blue, false, fed, measure.Postgres)
	add("cores", orange, false, fed, measure.Cores)
	add("GPU", green, false, fed, measure.GPU)
	add("cores, kept columns", orange, true, kept, measure.Cores)
	add("GPU, kept columns", green, true, kept, measure.GPU)
	return list
}

// crossing returns the rows from which on the second engine is faster than the first one in
// all measured joins, by a line between the two joins around that on logarithmic scales;
// found is false if there is no such place between two joins.
func crossing(first, second []point) (rows float64, found bool) {
	for i := 1; i < len(first) && i < len(second); i++ {
		a, b := math.Log(first[i-1].ms/second[i-1].ms), math.Log(first[i].ms/second[i].ms)
		if first[i].rows != second[i].rows || first[i-1].rows != second[i-1].rows {
			return 0, false
		}
		switch {
		case a <= 0 && b > 0:
			from, to := math.Log(first[i-1].rows), math.Log(first[i].rows)
			rows, found = math.Exp(from+(to-from)*(-a)/(b-a)), true
		case b <= 0:
			found = false
		}
	}
	return rows, found
}

// crossings says from how many rows on a GPU is faster than cores, for each kind of joins that
// has both.
func crossings(list []series) (lines []string) {
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			a, b := list[i], list[j]
			if a.engine != measure.Cores || b.engine != measure.GPU || a.dashed != b.dashed {
				continue
			}
			p, q := a.points(), b.points()
			text := "is the faster one in some of these joins only"
			faster := func(k int) bool { return k < len(q) && q[k].ms < p[k].ms }
			switch rows, found := crossing(p, q); {
			case found:
				text = fmt.Sprintf("is faster from about %s rows on", count(rows))
			case faster(0) && faster(len(p)-1):
				text = fmt.Sprintf("is faster in all of these joins, of %s rows and more", count(p[0].rows))
			case !faster(0) && !faster(len(p)-1):
				text = "is not faster in any of these joins"
			}
			kind := "Tables read for each query"
			if a.dashed {
				kind = "Kept columns"
			}
			lines = append(lines, fmt.Sprintf("%s: the GPU %s.", kind, text))
		}
	}
	return lines
}

// count formats a number of rows with two digits.
func count(rows float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(rows))-1)
	rows = math.Round(rows/unit) * unit
	switch {
	case rows >= 1e6:
		return fmt.Sprintf("%.4g M", rows/1e6)
	case rows >= 1e3:
		return fmt.Sprintf("%.4g thousand", rows/1e3)
	}
	return fmt.Sprintf("%.0f", rows)
}

// plotRows draws time over rows.
func plotRows(list []series) string {
	const width, height, left, right, top, bottom = 760, 360, 74.0, 40.0, 40.0, 44.0
	c := newCanvas(width, height, "Time of a join over the rows of both tables, on cores and on a GPU")
	c.legend(left, 18, legendOf(list))
	var rows, times []float64
	for _, s := range list {
		for _, p := range s.points() {
			rows, times = append(rows, p.rows), append(times, p.ms)
		}
	}
	x, y := newAxis(rows, left, width-right), newAxis(times, height-bottom, top)
	drawAxis(c, y, left, width-right, "ms")
	for _, v := range x.decades() {
		c.line(x.at(v), top, x.at(v), height-bottom, gridColour)
		c.text(x.at(v), height-bottom+16, "middle", count(v))
	}
	for _, s := range list {
		var xs, ys []float64
		for _, p := range s.points() {
			xs, ys = append(xs, x.at(p.rows)), append(ys, y.at(p.ms))
		}
		c.path(xs, ys, s.colour, s.dashed)
		for i := range xs {
			c.dot(xs[i], ys[i], s.colour)
		}
	}
	c.text(left+(width-left-right)/2, height-6, "middle", "rows of both tables")
	return c.String()
}

// share is where the time of an engine went: the medians over all queries that the daemon
// executed, as parts of the query's time.
type share struct {
	name               string
	feed, join, result float64
	queries            int
}

// shareOf returns the shares of an engine's results. Jobs of one query may overlap, so that
// parts are of their sum if that exceeds the query's time.
func shareOf(name string, d *measure.Document, engine string) (s share, ok bool) {
	if d == nil {
		return s, false
	}
	var feed, join, result []float64
	for _, r := range d.Results {
		total := r.Values["explain_ms"]
		f, j, b := r.Values["feed_ms"], r.Values["join_ms"], r.Values["return_ms"]
		if s, ok := r.Values["feed_share"]; ok { // results that have parts of the time alone
			total, f, j = 1, s, r.Values["join_share"]
		}
		if r.Engine != engine || total <= 0 || f+j+b <= 0 || r.Values["input_rows"] > 0 {
			continue
		}
		total = max(total, f+j+b)
		feed, join, result = append(feed, f/total), append(join, j/total), append(result, b/total)
	}
	if len(feed) == 0 {
		return s, false
	}
	return share{name, measure.Median(feed), measure.Median(join), measure.Median(result), len(feed)}, true
}

// plotShares draws a bar for each engine.
func plotShares(list []share) string {
	const width, left, right, top, row = 760, 250.0, 30.0, 40.0, 34.0
	height := int(top+row*float64(len(list))) + 30
	c := newCanvas(width, height, "Parts of the time of TPC-H's queries: feed, join, return")
	c.legend(left, 18, []entry{{name: "feed", colour: orange}, {name: "join", colour: green}, {name: "return", colour: violet}, {name: "PostgreSQL and the rest", colour: grey}})
	scale := (width - left - right)
	for i, s := range list {
		x, y := left, top+row*float64(i)
		c.text(left-8, y+16, "end", s.name)
		rest := max(0, 1-s.feed-s.join-s.result)
		total := s.feed + s.join + s.result + rest
		for _, part := range []struct {
			share  float64
			colour string
		}{{s.feed, orange}, {s.join, green}, {s.result, violet}, {rest, grey}} {
			w := scale * part.share / total
			c.rect(x, y, w, row-10, part.colour)
			x += w
		}
	}
	for percent := 0.0; percent <= 100; percent += 25 {
		c.text(left+scale*percent/100, float64(height)-8, "middle", fmt.Sprintf("%g %%", percent))
	}
	return c.String()
}
