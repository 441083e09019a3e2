package kept

import (
	"errors"
	"fmt"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// CliffPoint is a query after a fraction of a table's blocks has changed.
type CliffPoint struct {
	Changed  float64 // percent of the blocks
	Layout   string  // clustered: one range of blocks; spread: every nth one
	Vacuumed string  // no; first: the first query after VACUUM; yes: later ones
	FedMs    float64 // nothing is kept
	KeptMs   float64
	Blocks   blocks
	Ratio    float64 // kept by fed
	SpeedUp  float64 // fed by kept
	OfClean  float64 // of the speed-up without changes
}

func (p *CliffPoint) result() measure.Result {
	name := fmt.Sprintf("%g %% of blocks changed, %s, vacuumed: %s", p.Changed, p.Layout, p.Vacuumed)
	return measure.Result{Name: name, Engine: measure.Kept, Values: map[string]float64{"fed_ms": p.FedMs, "kept_ms": p.KeptMs, "kept/fed": p.Ratio,
		"fed/kept": p.SpeedUp, "of_clean": p.OfClean, "blocks_kept": float64(p.Blocks.Kept), "blocks_proved": float64(p.Blocks.Proved), "blocks_fed": float64(p.Blocks.Fed)}}
}

// cliffRows is the number of rows of a block of the table: those with the same page.
const cliffRows = 60

// cliffs measures what is left of the gain when blocks have changed.
func (b *bench) cliffs() error {
	pages := b.rows / cliffRows
	say("cliffs: filling %d blocks", pages)
	err := b.exec(`create table cliff (page int4, v int8, w int4, g int4, padding text) with (fillfactor = 90);
		insert into cliff select i / %d, i * 7919 %% 1000003, i %% 1000, i %% 50, repeat('.', 66) from generate_series(0::int8, %d) i;
		create index on cliff (page)`, cliffRows, b.rows-1)
	if err != nil {
		return err
	}
	if err := b.startDaemon(harness.DaemonOptions{}); err != nil {
		return err
	}
	const query = "select g, count(*), sum(v) from cliff where w < 800 group by g"
	clean := 0.0
	rows := []string{"changed %\tlayout\tvacuumed\tfed ms\tkept ms\tkept / fed\tspeed-up\tof clean\tblocks kept\tproved\tfed"}
	for _, changed := range []float64{0, 0.1, 1, 10, 50} {
		for _, layout := range []string{"clustered", "spread"} {
			if changed == 0 && layout == "spread" {
				continue
			}
			points, err := b.cliff(query, changed, layout, pages)
			if err != nil {
				return fmt.Errorf("%g %%, %s: %w", changed, layout, err)
			}
			for _, p := range points {
				p.Ratio = measure.Round(p.KeptMs/p.FedMs, 2)
				p.SpeedUp = measure.Round(p.FedMs/p.KeptMs, 2)
				if clean == 0 {
					clean = p.SpeedUp
				}
				p.OfClean = measure.Round(p.SpeedUp/clean, 2)
				b.results = append(b.results, p.result())
				row := fmt.Sprintf("%g\t%s\t%s\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%d\t%d\t%d", p.Changed, p.Layout, p.Vacuumed, p.FedMs, p.KeptMs,
					p.Ratio, p.SpeedUp, p.OfClean, p.Blocks.Kept, p.Blocks.Proved, p.Blocks.Fed)
				rows = append(rows, row)
				say("%s", row)
			}
		}
	}
	return b.table(rows)
}

// cliff measures one fraction and layout: without VACUUM, at the first query after it, and later.
func (b *bench) cliff(query string, changed float64, layout string, pages int) ([]CliffPoint, error) {
	// A new file, all of which is kept.
	if err := errors.Join(b.exec("vacuum full cliff"), b.ready("cliff")); err != nil {
		return nil, err
	}
	if err := b.keep(query); err != nil {
		return nil, err
	}
	if changed == 0 {
		p, err := b.point(query, b.runs, CliffPoint{Vacuumed: "yes", Layout: "-"})
		return []CliffPoint{p}, err
	}
	n := int(float64(pages)*changed/100 + 0.5)
	which := fmt.Sprintf("page < %d", n)
	if layout == "spread" {
		which = fmt.Sprintf("page in (select i::int8 * %d / %d from generate_series(0, %d) i)", pages, n, n-1)
	}
	// One row of each block, whose new version has space there.
	update := fmt.Sprintf("update cliff set w = (w + 1) %% 1000 where ctid in (select min(ctid) from cliff where %s group by page)", which)
	if err := b.exec("%s", update); err != nil {
		return nil, err
	}
	before, err := b.point(query, b.runs, CliffPoint{Changed: changed, Layout: layout, Vacuumed: "no"})
	if err != nil {
		return nil, err
	}
	var firsts []float64
	first := CliffPoint{Changed: changed, Layout: layout, Vacuumed: "first"}
	for i := range 4 {
		if i > 0 {
			if err := b.keep(query); err != nil {
				return nil, err
			}
			if err := b.exec("%s", update); err != nil {
				return nil, err
			}
		}
		if err := b.exec("vacuum cliff"); err != nil {
			return nil, err
		}
		if i == 3 { // its time is that of EXPLAIN, too
			if _, first.Blocks, err = b.explain(always, query); err != nil {
				return nil, err
			}
			break
		}
		ms, err := b.once(b.session, always, query)
		if err != nil {
			return nil, err
		}
		firsts = append(firsts, ms)
	}
	first.KeptMs = measure.Round(measure.Median(firsts), 3)
	if err := b.keep(query); err != nil {
		return nil, err
	}
	after, err := b.point(query, b.runs, CliffPoint{Changed: changed, Layout: layout, Vacuumed: "yes"})
	first.FedMs = after.FedMs // pages are as they are for the first query
	return []CliffPoint{before, first, after}, err
}

// point measures the query as things are, after a run that stores what it can.
func (b *bench) point(query string, runs int, p CliffPoint) (CliffPoint, error) {
	if _, err := b.once(b.session, always, query); err != nil {
		return p, err
	}
	ms, err := b.medians(runs, way{fed, query}, way{always, query})
	if err != nil {
		return p, err
	}
	p.FedMs, p.KeptMs = ms[0], ms[1]
	_, p.Blocks, err = b.explain(always, query)
	return p, err
}
