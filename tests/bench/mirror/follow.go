package mirror

import (
	"fmt"
	"time"

	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
)

const streamChanges = 300_000

// stream writes rows at the source in transactions of ten changes, and waits until all are
// visible here: the source's own work is part of the time.
func (b *bench) stream() error {
	if err := b.exec(b.source, "create table changes (id bigint primary key, a int, b numeric(12, 2), c text)"); err != nil {
		return err
	}
	if err := b.exec(b.local, "%s", foreign.ImportSQL(server, "changes")); err != nil {
		return err
	}
	if err := foreign.Mirror(b.ctx, b.local, "src.changes"); err != nil {
		return err
	}
	var rates, behind, alone []float64
	for range b.runs {
		began := time.Now()
		if err := b.exec(b.source, `truncate changes`); err != nil {
			return err
		}
		if err := b.exec(b.source, `do $$ begin
			for i in 1 .. %d loop
				insert into changes select i * 10 + j, j, i / 3.0, 'some text' from generate_series(1, 5) j;
				update changes set a = a + 1 where id between i * 10 + 1 and i * 10 + 5;
				commit;
			end loop; end $$`, streamChanges/10); err != nil {
			return err
		}
		written := time.Since(began)
		if err := b.exec(b.local, "set gpujoin.freshness = '10min'"); err != nil {
			return err
		}
		for {
			n, err := b.number(b.local, "select count(*) from src.changes where a = id % 10 + 1")
			if err != nil {
				return err
			}
			if n == streamChanges/2 {
				break
			}
			if time.Since(began) > 5*time.Minute {
				return fmt.Errorf("%.0f of %d rows are visible", n, streamChanges/2)
			}
			time.Sleep(5 * time.Millisecond)
		}
		took := time.Since(began)
		rates = append(rates, streamChanges/took.Seconds())
		alone = append(alone, streamChanges/written.Seconds())
		behind = append(behind, (took - written).Seconds())
	}
	b.add("end to end, transactions of ten", measure.Median(rates), "changes/s").Note =
		fmt.Sprintf("the source itself wrote %.0f changes/s; the rest was visible %.2f s after its last commit", measure.Median(alone), measure.Median(behind))
	return b.exec(b.local, "reset gpujoin.freshness; select gpujoin.unmirror('src.changes')")
}

// lag measures how late commits are visible while 5000 changes are written each second.
func (b *bench) lag() error {
	l, err := b.world.MeasureLag(b.ctx, b.local, server, 5000, 15*time.Second)
	if err != nil {
		return err
	}
	b.add("lag, median", l.P50, "ms").Note = fmt.Sprintf("%.0f changes/s, %d commits, from a commit's answer at the source to that of a query here", l.Changes, l.Commits)
	b.add("lag, 99 %", l.P99, "ms")
	return nil
}

const latestRuns = 300

// latest measures what a query waits for the source's newest position when nothing is written.
func (b *bench) latest() error {
	if err := b.exec(b.source, "create table if not exists lag_beat (id int primary key, n bigint not null)"); err != nil {
		return err
	}
	if err := b.exec(b.local, "drop foreign table if exists src.lag_beat; %s", foreign.ImportSQL(server, "lag_beat")); err != nil {
		return err
	}
	if err := foreign.Mirror(b.ctx, b.local, "src.lag_beat"); err != nil {
		return err
	}
	times := map[string][]float64{}
	for range latestRuns {
		for _, freshness := range []string{"latest", "10min"} {
			if err := b.exec(b.local, "set gpujoin.freshness = '%s'", freshness); err != nil {
				return err
			}
			began := time.Now()
			if err := b.exec(b.local, "select sum(n) from src.lag_beat"); err != nil {
				return err
			}
			times[freshness] = append(times[freshness], float64(time.Since(began).Microseconds())/1000)
		}
	}
	least := measure.Median(times["10min"])
	b.add("latest, added when idle", measure.Median(times["latest"])-least, "ms").Note = fmt.Sprintf("a query of one row takes %.2f ms without it", least)
	return b.exec(b.local, "reset gpujoin.freshness")
}
