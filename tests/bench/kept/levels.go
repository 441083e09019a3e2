package kept

import (
	"fmt"
	"slices"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Levels is what it costs to prove that the blocks of a table have not changed. Times are
// the least of all runs, because differences of them count.
type Levels struct {
	Blocks int
	GB     float64 // 2^30 bytes
	BaseMs float64 // of the same query on the same rows in few blocks
	// Level1Ms: the visibility map alone proves all blocks.
	Level1Ms      float64
	Level1MsPerGB float64
	// Level2Ms: the LSN of each page is compared, in a session that has read the pages before,
	// and in a new one, which the system has to give each page of shared buffers first.
	Level2Ms        float64
	Level2NsPerPage float64
	NewMs           float64
	NewNsPerPage    float64
	Proved          int
	FedMs           float64 // nothing is kept
}

func (l *Levels) result() measure.Result {
	return measure.Result{Name: "proof of a table's blocks", Engine: measure.Kept, Values: map[string]float64{
		"blocks": float64(l.Blocks), "gb": l.GB, "base_ms": l.BaseMs, "level1_ms": l.Level1Ms, "level1_ms_per_gb": l.Level1MsPerGB,
		"level2_ms": l.Level2Ms, "level2_ns_per_page": l.Level2NsPerPage, "level2_new_session_ms": l.NewMs,
		"level2_new_session_ns_per_page": l.NewNsPerPage, "proved": float64(l.Proved), "fed_ms": l.FedMs}}
}

// blocksPerGroup is the number of heap blocks of a page of the visibility map.
const blocksPerGroup = 32672

// levels measures a table with one row on each page, so that only its blocks count.
func (b *bench) levels() error {
	n := int(b.gb * (1 << 30) / 8192)
	say("levels: filling %d blocks", n)
	err := b.exec(`create table pages (id int4, v int4, padding text) with (fillfactor = 50); alter table pages alter padding set storage plain;
		insert into pages select i, 0, repeat('.', 3500) from generate_series(1, %d) i;
		create table dense as select id, v from pages;
		create index on pages (id)`, n)
	if err == nil {
		err = b.ready("pages", "dense")
	}
	if err != nil {
		return err
	}
	if err := b.startDaemon(harness.DaemonOptions{}); err != nil {
		return err
	}
	const query, base = "select count(*), sum(v) from pages", "select count(*), sum(v) from dense"
	for _, sql := range []string{query, base} {
		if err := b.keep(sql); err != nil {
			return err
		}
	}
	l := &Levels{Blocks: n, GB: measure.Round(float64(n)*8192/(1<<30), 3)}
	times, err := b.times(10*b.runs, way{always, base}, way{always, query})
	if err != nil {
		return err
	}
	whole, err := b.times(b.runs, way{fed, query})
	if err != nil {
		return err
	}
	l.BaseMs, l.Level1Ms, l.FedMs = slices.Min(times[0]), slices.Min(times[1]), slices.Min(whole[0])
	l.Level1MsPerGB = measure.Round((l.Level1Ms-l.BaseMs)/l.GB, 3)
	if err := b.level2(l, query, n); err != nil {
		return err
	}
	b.results = append(b.results, l.result())
	return b.table([]string{"blocks\tGB\tbase ms\tlevel 1 ms\tms per GB\tlevel 2 ms\tns a page\tnew session ms\tns a page\tfed ms",
		fmt.Sprintf("%d\t%.2f\t%.3f\t%.3f\t%.3f\t%.2f\t%.1f\t%.2f\t%.1f\t%.1f", l.Blocks, l.GB, l.BaseMs, l.Level1Ms, l.Level1MsPerGB,
			l.Level2Ms, l.Level2NsPerPage, l.NewMs, l.NewNsPerPage, l.FedMs)})
}

// level2 measures the query after a change of one block in each group, whose new version of
// the row is in the same block, and VACUUM.
func (b *bench) level2(l *Levels, query string, n int) error {
	change := func() error {
		for at := 5; at <= n; at += blocksPerGroup {
			if err := b.exec("update pages set v = v + 1 where id = %d", at); err != nil {
				return err
			}
		}
		return b.exec("vacuum pages")
	}
	// Which pages a first run proves, and how many it feeds.
	if err := change(); err != nil {
		return err
	}
	_, blocks, err := b.explain(always, query)
	if err != nil {
		return err
	}
	l.Proved = blocks.Proved
	if l.Proved == 0 {
		return fmt.Errorf("no block was proved: %+v", blocks)
	}
	var warm, fresh []float64
	for range b.runs {
		for _, again := range []bool{true, false} {
			if err := b.keep(query); err != nil {
				return err
			}
			if err := change(); err != nil {
				return err
			}
			s := b.session
			if !again {
				if s, err = b.cluster.Connect(b.ctx); err != nil {
					return err
				}
				if _, err := b.once(s, always, "select count(*), sum(v) from dense"); err != nil {
					return err
				}
			}
			ms, err := b.once(s, always, query)
			if err != nil {
				return err
			}
			if again {
				warm = append(warm, ms)
				continue
			}
			fresh = append(fresh, ms)
			if err := s.Close(); err != nil {
				return err
			}
		}
	}
	perPage := func(ms float64) float64 {
		return measure.Round((ms-l.Level1Ms)*1e6/float64(l.Proved), 1)
	}
	l.Level2Ms, l.NewMs = slices.Min(warm), slices.Min(fresh)
	l.Level2NsPerPage, l.NewNsPerPage = perPage(l.Level2Ms), perPage(l.NewMs)
	return nil
}
