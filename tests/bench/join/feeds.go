package join

import (
	"fmt"

	"gpujoin/tests/measure"
)

// feed is a way to feed a table, measured in a job whose other input is a
// single row that matches nothing.
type feed struct {
	name, kind string
	rows       func(b *bench) int
	sql        string
	settings   string
}

var feeds = []feed{
	{"feed-page-4", "page", func(b *bench) int { return b.rows },
		"select sum(f.k1m), sum(f.k10m), sum(f.v) from fact f join one on f.k1k = one.a", ""},
	{"feed-child-4", "child", func(b *bench) int { return b.rows },
		"select sum(f.k1m), sum(f.k10m), sum(f.v) from fact f join one on f.k1k = one.a", "set gpujoin.page_row_cost = 1e6"},
	{"feed-page-lineitem", "page", nil,
		"select sum(l_extendedprice), sum(l_discount), max(l_shipdate) from lineitem join one on l_orderkey = one.a", ""},
	{"feed-page-nulls", "page", (*bench).feedRows,
		"select sum(f.b), sum(f.c), sum(f.d) from feed_nulls f join one on f.a = one.a", ""},
	{"feed-page-text", "page", (*bench).feedRows,
		"select max(f.b), max(f.c) from feed_text f join one on f.a = one.a", ""},
	{"feed-page-not-all-visible", "page", (*bench).feedRows,
		"select sum(f.k1m), sum(f.k10m), sum(f.v) from feed_fresh f join one on f.k1k = one.a", ""},
}

// feedResult is what was measured of a feed. NsPerRow excludes waits for extents.
type feedResult struct {
	Workload             string
	NsPerRow, WaitPerRow float64
	Rows                 int64
}

func (r *feedResult) result() measure.Result {
	return measure.Result{Name: r.Workload, Engine: measure.Forced, Values: map[string]float64{
		"ns_per_row": r.NsPerRow, "wait_ns_per_row": r.WaitPerRow, "rows": float64(r.Rows)}}
}

// feeds measures feeds in one process, so that a rate is that of one core. No
// filter of keys drops rows.
func (b *bench) feeds() error {
	rows := []string{"feed\tns a row and core\twaiting, ns a row\trows"}
	for _, f := range feeds {
		say("%s", f.name)
		r, err := b.feed(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		b.results = append(b.results, r.result())
		rows = append(rows, fmt.Sprintf("%s\t%.1f\t%.1f\t%d", r.Workload, r.NsPerRow, r.WaitPerRow, r.Rows))
	}
	return b.addTables(rows)
}

func (b *bench) feed(f feed) (*feedResult, error) {
	if err := b.session.Exec(b.ctx, forced+"; set max_parallel_workers_per_gather = 0; set gpujoin.enable_key_filters = off; set gpujoin.keep = off; "+f.settings); err != nil {
		return nil, err
	}
	r := &feedResult{Workload: f.name}
	var feeding, waiting []float64
	for range b.runs {
		plan, err := b.session.Explain(b.ctx, "analyze, timing off", f.sql)
		if err != nil {
			return nil, err
		}
		nodes := plan.Jobs()
		if len(nodes) != 1 || plan.OffloadedJoins() != 1 {
			return nil, fmt.Errorf("not one offloaded join: %v", nodes)
		}
		if !nodes[0].FedBy(f.kind) {
			return nil, fmt.Errorf("not a %s feed: %v", f.kind, nodes[0]["Inputs"])
		}
		p := nodes[0].Participants()
		if len(p) != 1 || p[0]["Feed Time"] == nil {
			return nil, fmt.Errorf("no times of one participant: %v", p)
		}
		fed := p[0].Number("Fed Rows")
		if f.rows != nil && int(fed) < f.rows(b) {
			return nil, fmt.Errorf("%.0f rows fed", fed)
		}
		wait := p[0].Number("Feed Wait Time")
		r.Rows = int64(fed)
		feeding = append(feeding, (p[0].Number("Feed Time")-wait)*1e6/fed)
		waiting = append(waiting, wait*1e6/fed)
	}
	r.NsPerRow = measure.Round(measure.Median(feeding), 1)
	r.WaitPerRow = measure.Round(measure.Median(waiting), 1)
	return r, b.session.Exec(b.ctx, "reset all")
}
