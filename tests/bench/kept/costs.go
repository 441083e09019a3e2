package kept

import (
	"errors"
	"fmt"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Nothing is what a query pays that might keep columns, and does not.
type Nothing struct {
	OffMs   float64 // gpujoin.keep = off
	AutoMs  float64 // auto
	MoreUs  float64 // of auto
	Samples int
}

func (n *Nothing) result() measure.Result {
	return measure.Result{Name: "nothing kept", Engine: measure.Kept, Values: map[string]float64{
		"off_ms": n.OffMs, "auto_ms": n.AutoMs, "more_us": n.MoreUs, "samples": float64(n.Samples)}}
}

// nothing measures a short join with a daemon that finds no table interesting enough.
func (b *bench) nothing() error {
	say("nothing kept")
	err := b.exec(`create table left_side as select i as k, i %% 100 as v, repeat('.', 100) as padding from generate_series(1, 2000) i;
		create table right_side as select i as k, i %% 10 as w, repeat('.', 100) as padding from generate_series(1, 2000) i`)
	if err == nil {
		err = b.ready("left_side", "right_side")
	}
	if err != nil {
		return err
	}
	if err := b.startDaemon(harness.DaemonOptions{"keep-interest": "1ms"}); err != nil {
		return err
	}
	const query = "select count(*), sum(l.v), sum(r.w) from left_side l join right_side r using (k)"
	n := &Nothing{Samples: 100 * b.runs}
	ms, err := b.medians(n.Samples, way{fed, query}, way{auto, query})
	if err != nil {
		return err
	}
	if _, used, err := b.explain(auto, query); err != nil || used.Kept+used.Proved > 0 {
		return fmt.Errorf("blocks were kept: %+v, %w", used, err)
	}
	n.OffMs, n.AutoMs = ms[0], ms[1]
	n.MoreUs = measure.Round((ms[1]-ms[0])*1000, 0)
	b.results = append(b.results, n.result())
	return b.table([]string{"join of two tables, nothing kept\toff ms\tauto ms\tmore us",
		fmt.Sprintf("medians of %d\t%.3f\t%.3f\t%.0f", n.Samples, n.OffMs, n.AutoMs, n.MoreUs)})
}

// Capture is what it costs to feed a table whose blocks the daemon then keeps.
type Capture struct {
	Query     string
	FeedNs    float64 // unfiltered, nothing is captured
	CaptureNs float64 // all blocks are captured
	Ratio     float64 // of the two
	QueryMs   float64 // of the whole query
	CaptureMs float64 // the same
}

func (c *Capture) result() measure.Result {
	return measure.Result{Name: "capture: " + c.Query, Engine: measure.Kept, Values: map[string]float64{
		"feed_ns_per_row": c.FeedNs, "capture_ns_per_row": c.CaptureNs, "capture/feed": c.Ratio, "query_ms": c.QueryMs, "query_ms_with_capture": c.CaptureMs}}
}

// captures measures feeds of one process, without waits for extents.
func (b *bench) captures() error {
	say("captures: filling")
	err := b.exec(`create table captured as select i::int8 as a, i * 3 %% 1000003 as b, (i %% 1000)::numeric(10,2) as n, date '2020-01-01' + (i %% 900)::int as d, md5(i::text) as t
		from generate_series(1::int8, %d) i`, b.rows)
	if err != nil {
		return err
	}
	if err := b.startDaemon(harness.DaemonOptions{}); err != nil {
		return err
	}
	rows := []string{"query\tfeed, ns a row\tcapture, ns a row\tratio\tquery ms\twith capture ms"}
	for _, query := range []string{
		"select count(*), sum(a), sum(b) from captured", "select sum(n), max(d) from captured", "select sum(length(t)), sum(a) from captured",
	} {
		var feed, capture, whole, captured []float64
		for range b.runs {
			// A new file, of which nothing is kept.
			if err := errors.Join(b.exec("vacuum full captured"), b.ready("captured")); err != nil {
				return err
			}
			for _, settings := range []string{fed, fed, always} { // the first run warms
				job, used, err := b.explain(settings, query)
				if err != nil {
					return err
				}
				p := job.Participants()
				if len(p) != 1 || p[0].Number("Fed Rows") < float64(b.rows) {
					return fmt.Errorf("not all rows were fed: %v, %+v", p, used)
				}
				ns := (p[0].Number("Feed Time") - p[0].Number("Feed Wait Time")) * 1e6 / p[0].Number("Fed Rows")
				total := p[0].Number("Feed Time") + job.Number("Join Time")
				if settings == always {
					capture, captured = append(capture, ns), append(captured, total)
				} else {
					feed, whole = append(feed, ns), append(whole, total)
				}
			}
		}
		c := Capture{Query: query, FeedNs: measure.Round(measure.Median(feed), 1), CaptureNs: measure.Round(measure.Median(capture), 1),
			QueryMs: measure.Round(measure.Median(whole), 1), CaptureMs: measure.Round(measure.Median(captured), 1)}
		c.Ratio = measure.Round(c.CaptureNs/c.FeedNs, 2)
		b.results = append(b.results, c.result())
		rows = append(rows, fmt.Sprintf("%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f", query, c.FeedNs, c.CaptureNs, c.Ratio, c.QueryMs, c.CaptureMs))
		say("%s: %.2f times", query, c.Ratio)
	}
	return b.table(rows)
}
