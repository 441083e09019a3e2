package keptcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// writer changes rows, in all ways that stamp pages or clear bits of the visibility map.
type writer struct {
	*client
	prepared int
}

func (w *writer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.open(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := w.one(); err != nil && !expected(err) {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		w.pause(ctx, 400*time.Millisecond)
	}
	return nil
}

// target draws a table that is not a calm one, most of the time.
func (w *writer) target() *table {
	for {
		t := &w.w.tables[w.IntN(len(w.w.tables))]
		if !t.cold || w.IntN(12) == 0 {
			return t
		}
	}
}

// change draws statements that change few rows.
func (w *writer) change(t *table) string {
	from, to := t.rangeOf(w.Rand)
	where := fmt.Sprintf("where id between %d and %d", from, to)
	switch w.IntN(14) {
	case 0, 1, 2: // HOT, where a page has space
		return fmt.Sprintf("update %s set n = n + 1, t = left('w%d' || t, 40) %s", t.name, w.IntN(1000), where)
	case 3, 4: // the index changes
		return fmt.Sprintf("update %s set k = (k + %d) %% %d, f = -f %s", t.name, 1+w.IntN(50), t.rows, where)
	case 5, 6:
		return fmt.Sprintf("delete from %s %s; %s", t.name, where, t.insert(from, to))
	case 7: // another transaction inserts them
		return fmt.Sprintf("delete from %s %s", t.name, where)
	case 8:
		return fmt.Sprintf("delete from %s %s and b; %s", t.name, where, t.insert(from, from+(to-from)/2))
	case 9: // rows in many blocks
		return fmt.Sprintf("update %s set g = (g + 1) %% 23, d = d + 1 where id in (select %d + i * %d from generate_series(0, 12) i)", t.name, from, max(1, t.rows/50))
	case 10: // changes pages, but no row
		return fmt.Sprintf("select count(*) from (select from %s %s for %s) x", t.name, where, one(w.Rand, "update", "share", "no key update", "key share"))
	case 11: // rows move to another partition
		if t.leafs > 0 {
			return fmt.Sprintf("update %s set p = (p + 1) %% 4 %s", t.name, where)
		}
		return fmt.Sprintf("update %s set u = null, b = not b %s", t.name, where)
	case 12: // the table's end, which VACUUM may truncate
		end := t.rows - t.rows/40
		return one(w.Rand, fmt.Sprintf("delete from %s where id >= %d", t.name, end),
			fmt.Sprintf("delete from %s where id >= %d; %s", t.name, end, t.insert(end, t.rows-1)))
	default:
		return fmt.Sprintf("update %s set nn = nn * 2, ts = ts + interval '1 day' %s", t.name, where)
	}
}

// one runs one transaction.
func (w *writer) one() error {
	t := w.target()
	begin := "begin; set local synchronous_commit = " + one(w.Rand, "on", "off", "off")
	end := one(w.Rand, "commit", "commit", "commit", "commit", "rollback")
	switch w.IntN(12) {
	case 0: // subtransactions
		return w.script(begin, "savepoint a", w.change(t), "rollback to a", w.change(t), "savepoint b", w.change(w.target()),
			one(w.Rand, "release b", "rollback to b"), w.change(t), end)
	case 1: // more subtransactions than a process remembers
		from, to := t.rangeOf(w.Rand)
		return w.script(begin, fmt.Sprintf(`do $$ begin for i in 1 .. 80 loop
			begin update %s set n = n + i where id = %d; if i %% 3 = 0 then raise 'no'; end if; exception when raise_exception then null; end;
			end loop; end $$`, t.name, from+w.IntN(to-from+1)), end)
	case 2, 3:
		return w.twoPhase(begin, t)
	case 4:
		return w.copyFreeze(begin)
	case 5: // takes a while
		return w.script(begin, w.change(t), fmt.Sprintf("select pg_sleep(%d / 1000.0)", w.IntN(400)), w.change(t), end)
	default:
		return w.script(begin, w.change(t), end)
	}
}

// twoPhase prepares a transaction and ends it later.
func (w *writer) twoPhase(begin string, t *table) error {
	w.prepared++
	name := fmt.Sprintf("%s %d", w.name, w.prepared)
	if err := w.script(begin, w.change(t), "prepare transaction '"+name+"'"); err != nil {
		return err
	}
	time.Sleep(time.Duration(w.IntN(200)) * time.Millisecond)
	if w.IntN(8) == 0 {
		return nil // the DBA ends it
	}
	return w.script(one(w.Rand, "commit", "commit", "rollback") + " prepared '" + name + "'")
}

// copyFreeze fills a table that the same transaction has truncated or created, with frozen
// rows in all-visible pages.
func (w *writer) copyFreeze(begin string) error {
	var t *table
	for i := range w.w.tables {
		if w.w.tables[i].name == "frozen" {
			t = &w.w.tables[i]
		}
	}
	var rows strings.Builder
	for i := range t.rows {
		fmt.Fprintf(&rows, "%d\t%d\t%d\t%d\t%d.25\t%d.5\tfrozen %d\tu%d\t2020-03-01\t2021-03-05 11:00+00\t%d.75\tt\t%s\n",
			i, (i*7919+w.IntN(9))%t.rows, i%23, i%4, i%50, i%977, i%300, i%97, i%1009, strings.Repeat(".", t.pad))
	}
	before := "truncate frozen"
	if w.IntN(2) == 0 {
		before = "drop table frozen; " + t.create()
	}
	if err := w.script(begin, before); err != nil {
		return err
	}
	if _, err := w.s.Conn().CopyFrom(context.Background(), strings.NewReader(rows.String()), "copy frozen ("+columns+") from stdin (freeze)"); err != nil {
		if w.s.Conn().IsClosed() {
			return errLost
		}
		return errors.Join(err, w.exec("rollback"))
	}
	return w.script(w.changeOrNothing(t), one(w.Rand, "commit", "commit", "commit", "rollback"))
}

func (w *writer) changeOrNothing(t *table) string {
	if w.IntN(3) == 0 {
		return w.change(t)
	}
	return "select 1"
}
