package foreign

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

const accounts = `
	create table debit (id int primary key, amount bigint not null, note text);
	insert into debit select i, 100, 'note ' || i from generate_series(1, 2000) i;
	create table credit (id int primary key, amount numeric(12, 2) not null);
	insert into credit select i, 100 from generate_series(1, 2000) i;`

// Each statement sees everything that was committed at the source before it began.
func TestReadsYourWrites(t *testing.T) {
	w := newWorld(t, shared, accounts)
	w.imports(nil, "debit", "credit")
	for i := range 100 {
		w.source.exec(fmt.Sprintf("update debit set amount = %d where id = %d", i, i+1))
		if got := w.local.one(fmt.Sprintf("select amount from debit where id = %d", i+1)); got != fmt.Sprint(i) {
			t.Fatalf("%s instead of %d", got, i)
		}
	}
	p := w.local.plan("select count(*) from debit join credit using (id)")
	if p.Mirrored != 2 || p.Direct != 0 || p.Positions != 1 {
		t.Errorf("%+v", p)
	}
	w.same("select id, amount, note from debit")
	w.same("select * from debit join credit using (id) where debit.amount > 50")
}

// A statement sees two tables at one position of the source, while others write.
func TestOnePosition(t *testing.T) {
	w := newWorld(t, shared, accounts)
	w.imports(nil, "debit", "credit")
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for n := range 2 {
		s := w.connect(w.Source)
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := s.Exec(context.Background(), fmt.Sprintf("begin; update debit set amount = amount - 1 where id = %d; update credit set amount = amount + 1 where id = %d; commit",
					1+(i*7+n)%2000, 1+(i*13+n)%2000)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	last := ""
	moved := 0
	for _, forced := range []string{"on", "off"} {
		w.local.exec("set gpujoin.debug_force = " + forced)
		for range 60 {
			if got := w.local.one("select (select sum(amount) from debit) + (select sum(amount) from credit)"); got != "400000.00" {
				t.Fatalf("the sum is %s", got)
			}
			got := w.local.one("select sum(debit.amount) || ' ' || sum(debit.amount + credit.amount) from debit join credit using (id)")
			var sum int64
			var both string
			if _, err := fmt.Sscan(got, &sum, &both); err != nil || both != "400000.00" {
				t.Fatalf("%q, %v", got, err)
			}
			if got != last {
				moved++
			}
			last = got
		}
	}
	if moved < 20 {
		t.Errorf("the source moved %d times", moved)
	}
}

// From REPEATABLE READ on, a transaction sees one position; in READ COMMITTED each statement
// sees a new one.
func TestIsolation(t *testing.T) {
	w := newWorld(t, shared, accounts)
	w.imports(nil, "debit", "credit")
	const sum = "select sum(amount) from debit"
	for _, level := range []string{"repeatable read", "serializable"} {
		w.local.exec("begin isolation level " + level)
		before := w.local.one(sum)
		w.source.exec("update debit set amount = amount + 1; update credit set amount = amount - 1")
		if got := w.local.one(sum); got != before {
			t.Errorf("%s: %s after %s", level, got, before)
		}
		if got := w.local.one("select sum(debit.amount + credit.amount) from debit join credit using (id)"); got != "400000.00" {
			t.Errorf("%s: %s", level, got)
		}
		w.local.exec("commit")
		if got := w.local.one(sum); got == before {
			t.Errorf("%s: still %s", level, got)
		}
	}
	w.local.exec("begin isolation level read committed")
	before := w.local.one(sum)
	w.source.exec("update debit set amount = amount + 1")
	if got := w.local.one(sum); got == before {
		t.Errorf("read committed: still %s", got)
	}
	w.local.exec("commit")
	// A cursor keeps its statement's position.
	w.local.exec("begin; declare c cursor for select sum(amount) over (), id from debit")
	first := w.local.query("fetch 1 from c").Rows[0]
	w.source.exec("update debit set amount = amount + 1")
	if got := w.local.query("fetch 1 from c").Rows[0]; got[:6] != first[:6] {
		t.Errorf("%s after %s", got, first)
	}
	w.local.exec("commit")
}

// With an interval, a statement does not wait as long as the mirror is not older.
func TestFreshness(t *testing.T) {
	w := newWorld(t, shared, accounts)
	w.imports(nil, "debit")
	w.local.exec("set gpujoin.freshness = '1h'")
	w.source.exec("update debit set amount = 7")
	eventually(t, "the change arrives", func() bool { return w.local.one("select count(*) from debit where amount = 7") == "2000" })
	w.local.exec("set gpujoin.freshness = 'latest'")
	// While the source's stream is stopped, the latest state is not to be had in time.
	w.local.exec("alter server src options (add freshness_timeout '500ms')")
	w.local.one("select count(*) from debit")
	stopSender(t, w, func() {
		w.source.exec("update debit set amount = 8")
		began := time.Now()
		w.local.fails("57014", "did not reach", "select sum(amount) from debit")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("after %v", took)
		}
		w.local.exec("set gpujoin.freshness = '1h'")
		if got := w.local.one("select count(*) from debit where amount = 7"); got != "2000" {
			t.Errorf("%s rows", got)
		}
	})
	w.local.exec("reset gpujoin.freshness; alter server src options (set freshness_timeout '30s')")
	if got := w.local.one("select count(*) from debit where amount = 8"); got != "2000" {
		t.Errorf("%s rows", got)
	}
}
