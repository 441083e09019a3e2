package foreign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gpujoin/tests/harness"
)

// Lag is how long commits at the source take to become visible in queries here.
type Lag struct {
	Changes float64 `json:"changes_per_second"` // that were written
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Commits int     `json:"commits"`
}

// lagTables are the source's tables whose changes are measured.
const lagTables = `create table lag_beat (id int primary key, n bigint not null); insert into lag_beat values (1, 0);
	create table lag_rows (id bigint primary key, a int not null, b text); insert into lag_rows select i, 0, 'row ' || i from generate_series(1, 1000) i`

// commitsPerSecond of the writer whose changes are measured.
const commitsPerSecond = 200

// MeasureLag writes changes at the source for some time, in transactions at equal distances,
// and asks for them here, without waiting for the latest state. A commit's lag is the time
// from its answer at the source to the answer of the first query here that sees it. The
// foreign server is one of Import.
func (w *World) MeasureLag(ctx context.Context, local *harness.Session, server string, rate int, d time.Duration) (l Lag, err error) {
	source, err := w.Source.Connect(ctx)
	if err != nil {
		return l, err
	}
	defer source.Close()
	if err := source.Exec(ctx, lagTables); err != nil {
		return l, err
	}
	for _, sql := range []string{ImportSQL(server, "lag_beat", "lag_rows"), "set gpujoin.freshness = '1min'"} {
		if err := local.Exec(ctx, sql); err != nil {
			return l, err
		}
	}
	if err := Mirror(ctx, local, server+".lag_beat", server+".lag_rows"); err != nil {
		return l, err
	}
	b := &beats{per: max(2, rate/commitsPerSecond)}
	running, stop := context.WithTimeout(ctx, d)
	defer stop()
	var all sync.WaitGroup
	var failed error
	began := time.Now()
	all.Go(func() {
		failed = b.write(running, source)
		stop()
	})
	lags, err := b.read(running, local, server)
	all.Wait()
	if err := errors.Join(failed, err); err != nil {
		return l, err
	}
	if len(lags) < 10 {
		return l, fmt.Errorf("only %d commits became visible in %v", len(lags), d)
	}
	slices.Sort(lags)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	l = Lag{Changes: float64(len(b.commits)*b.per) / time.Since(began).Seconds(), P50: ms(lags[len(lags)/2]), P99: ms(lags[len(lags)*99/100]), Commits: len(lags)}
	return l, local.Exec(ctx, "reset gpujoin.freshness")
}

// beats are transactions that are numbered from 1.
type beats struct {
	per     int // changes of each
	mu      sync.Mutex
	commits []time.Time // when the answer of each came
}

// write commits transactions until the context ends.
func (b *beats) write(ctx context.Context, s *harness.Session) error {
	tick := time.NewTicker(time.Second / commitsPerSecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		half := (b.per - 1) / 2
		sql := fmt.Sprintf("begin; update lag_beat set n = %[1]d; update lag_rows set a = a + 1 where id between %[2]d and %[3]d; insert into lag_rows select %[4]d + i, 0, 'new row' from generate_series(1, %[5]d) i; commit",
			n, 1+n*half%(1000-half), n*half%(1000-half)+half, 1000000+n*1000, b.per-1-half)
		// Not the context that ends: the last transaction ends in order.
		if err := s.Exec(context.Background(), sql); err != nil {
			return err
		}
		b.mu.Lock()
		b.commits = append(b.commits, time.Now())
		b.mu.Unlock()
	}
}

// read asks for the newest visible transaction and returns how late each was.
func (b *beats) read(ctx context.Context, s *harness.Session, server string) (lags []time.Duration, err error) {
	seen := 0
	for ctx.Err() == nil {
		text, err := s.One(context.Background(), "select n from "+server+".lag_beat")
		if err != nil {
			return nil, err
		}
		now, n := time.Now(), 0
		if _, err := fmt.Sscan(text, &n); err != nil {
			return nil, err
		}
		b.mu.Lock()
		known := len(b.commits)
		for ; seen < min(n, known); seen++ {
			lags = append(lags, max(0, now.Sub(b.commits[seen])))
		}
		for ; seen < n; seen++ { // visible before the source's answer came
			lags = append(lags, 0)
		}
		b.mu.Unlock()
		time.Sleep(500 * time.Microsecond)
	}
	return lags, nil
}
