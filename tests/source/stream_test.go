package source

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/sidecar/source"
	"gpujoin/tests/harness"
)

// kinds has a column of each sort that the stream must carry.
const kinds = `
	create type mood as enum ('sad', 'ok');
	create domain positive as numeric(12, 2) check (value > 0);
	create table kinds (
		a int, gone int, b bigint not null, c text, d numeric(15, 2), e date, f timestamptz, g uuid, h bytea, i jsonb, j int[], k mood, l positive,
		twice bigint generated always as (b * 2) stored, m char(5), n boolean, o double precision, "Odd ""Name" text,
		primary key (b, a));
	alter table kinds drop column gone;
	insert into kinds (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, "Odd ""Name") select i, i * 7, repeat('x', i % 50), i / 3.0, '2020-01-01'::date + i,
		now(), gen_random_uuid(), decode(md5(i::text), 'hex'), '{"a": 1}', array[i, null], 'ok', i + 1, 'ab', i % 2 = 0, i / 7.0, nullif('q', 'q')
		from generate_series(1, 3000) i;`

func TestLoadAndChanges(t *testing.T) {
	w := newWorld(t, shared, kinds)
	w.open(source.Options{Loaders: 2})
	w.mirror("kinds")
	w.same("kinds")
	for _, sql := range []string{
		"update kinds set c = 'new' where b % 5 = 0",
		"delete from kinds where b % 3 = 0",
		"update kinds set a = -a where b % 11 = 0", // a change of the key
		"update kinds set b = b + 1000000 where b % 13 = 0",
		"begin; insert into kinds (a, b) values (1, -1); savepoint s; insert into kinds (a, b) values (1, -2); rollback to s; insert into kinds (a, b) values (1, -3); commit",
		"begin; delete from kinds; rollback",
		"begin; truncate kinds; insert into kinds (a, b, k) values (1, 1, 'sad'), (2, 2, null); commit",
		"truncate kinds",
		"insert into kinds (a, b, c, d) select i, i, repeat('long', 20), 'NaN' from generate_series(1, 50000) i",
	} {
		w.exec(sql)
		w.same("kinds")
	}
	s := w.session.Status()
	if s.State != source.StateReady || len(s.Tables) != 1 || s.Tables[0].Rows != 3000 {
		t.Errorf("%+v", s)
	}
}

// A long value that an update leaves as it was is not sent.
func TestUnchangedLongValues(t *testing.T) {
	w := newWorld(t, shared, `
		create table long (id int primary key, n int, value text, other bytea);
		alter table long alter value set storage external;
		insert into long select i, 0, repeat(md5(i::text), 300), null from generate_series(1, 100) i;
		create table named (name text primary key, n int);
		alter table named alter name set storage external;
		insert into named select repeat(md5(i::text), 70), i from generate_series(1, 100) i;`)
	w.open(source.Options{})
	w.mirror("long", "named")
	w.exec(`update long set n = n + 1; update long set n = 7 where id % 2 = 0; update long set value = repeat('z', 9000) where id % 3 = 0;
		update long set id = id + 1000; update long set value = null where id % 7 = 0; update long set n = 8;
		update named set n = n + 1; update named set name = name || 'x' where n % 2 = 0; delete from named where n % 3 = 0`)
	w.same("long", "named")
}

// Two tables hold one sum. Writers move parts of it while the tables load, at different
// times; no position may show half of a transfer.
func TestLoadWhileWritersWrite(t *testing.T) {
	w := newWorld(t, shared, `
		create table one (id int primary key, amount bigint not null, filler text);
		create table two (id int primary key, amount bigint not null, filler text);
		insert into one select i, 100, repeat('f', 200) from generate_series(1, 20000) i;
		insert into two select i, 100, repeat('f', 200) from generate_series(1, 20000) i;`)
	sum := func(tables map[string]*recorded) string {
		total := int64(0)
		for _, name := range []string{"public.one", "public.two"} {
			if tables[name] == nil {
				return ""
			}
			for _, row := range tables[name].rows {
				v, err := strconv.ParseUint(row[1], 16, 64)
				if err != nil {
					return err.Error()
				}
				total += int64(v)
			}
		}
		if total != 4000000 {
			return fmt.Sprintf("the sum is %d", total)
		}
		return ""
	}
	commits := 0
	w.recorder.check = func(tables map[string]*recorded) string {
		if commits++; commits%200 != 0 {
			return ""
		}
		return sum(tables)
	}
	ctx, stop := context.WithCancel(bounded(t))
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	failed := make(chan error, 3)
	for n := range 3 {
		s := w.connect()
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				a, b := (i*7919+n*31)%20000+1, (i*104729+n*17)%20000+1
				sql := fmt.Sprintf(`begin; update one set amount = amount - 1 where id = %d; update two set amount = amount + 1 where id = %d; commit`, a, b)
				switch i % 10 {
				case 3:
					sql = fmt.Sprintf(`begin; update one set amount = amount - 5 where id = %d; rollback`, a)
				case 5:
					id := 100000 + n*1000000 + i
					sql = fmt.Sprintf(`begin; insert into one values (%d, 0, 'n'); update one set id = -id where id = %d; commit; delete from one where id = %d`, id, id, -id)
				}
				if err := s.Exec(context.Background(), sql); err != nil && !strings.Contains(err.Error(), "40P01") {
					failed <- err
					return
				}
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	w.open(source.Options{Loaders: 2})
	w.mirror("one")
	w.mirror("two")
	time.Sleep(500 * time.Millisecond)
	stop()
	writers.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	w.same("one", "two")
	w.recorder.mu.Lock()
	defer w.recorder.mu.Unlock()
	if text := sum(w.recorder.tables); text != "" {
		t.Error(text)
	}
	if w.recorder.resets > 0 {
		t.Errorf("%d resets", w.recorder.resets)
	}
}

// A transaction that exceeds the queue and the source's memory for decoding is applied whole.
func TestLargeTransaction(t *testing.T) {
	c := newCluster(t, map[string]string{"logical_decoding_work_mem": "64kB"})
	w := newWorld(t, c, "create table big (id bigint primary key, v text)")
	w.open(source.Options{Queue: 64 << 10})
	w.mirror("big")
	before := w.recorder.commits
	w.exec("insert into big select i, repeat('v', 50) from generate_series(1, 200000) i")
	w.exec("update big set v = id::text where id % 2 = 0; delete from big where id % 3 = 0")
	w.same("big")
	if n := w.recorder.commits - before; n != 2 {
		t.Errorf("%d commits", n)
	}
}

// Tables join one after the other, and others are changed meanwhile.
func TestTablesAddedLater(t *testing.T) {
	w := newWorld(t, shared, `
		create table first (id int primary key, v int); insert into first select i, i from generate_series(1, 1000) i;
		create table second (id int primary key, v int); insert into second select i, i from generate_series(1, 1000) i;
		create table empty (id int primary key);`)
	w.open(source.Options{})
	w.mirror("first")
	w.exec("update second set v = -v; update first set v = v + 1")
	w.mirror("second", "empty")
	w.exec("update second set v = 5 where id < 10; insert into empty values (1); delete from first where id = 1")
	w.same("first", "second", "empty")
}

// Prepared transactions and columns that are added at the end.
func TestPreparedAndAddedColumns(t *testing.T) {
	c := newCluster(t, map[string]string{"max_prepared_transactions": "4"})
	w := newWorld(t, c, "create table t (id int primary key, v int); insert into t select i, i from generate_series(1, 10) i")
	w.open(source.Options{})
	w.mirror("t")
	w.exec("begin")
	w.exec("update t set v = 100 where id = 1")
	w.exec("prepare transaction 'p'")
	w.exec("insert into t values (11, 11)")
	w.barrier()
	w.exec("commit prepared 'p'")
	w.same("t")
	w.exec("alter table t add column more text default 'd'")
	w.exec("insert into t values (12, 12, 'x'); update t set v = 0 where id = 2; alter table t add column even int; delete from t where id = 3")
	time.Sleep(1500 * time.Millisecond) // the catalogue is looked at
	w.barrier()
	rows := w.recorder.rowsOf("public.t")
	if len(rows) != 11 || len(strings.Fields(rows[0])) != 2 || rows[1] != "00000002 00000000" {
		t.Errorf("%q", rows)
	}
	// Loaded anew, the table has all columns.
	w.session.Forget(names("t")...)
	w.mirror("t")
	w.same("t")
	w.sound()
}

// TestUnwritten: a position is reached soon that is behind WAL which the source has not
// written to its disk: no commit follows it.
func TestUnwritten(t *testing.T) {
	w := newWorld(t, newCluster(t, harness.Settings{"wal_writer_delay": "10s", "autovacuum": "off"}), "create table t (id int8 primary key)")
	w.open(source.Options{})
	w.mirror("t")
	w.barrier()
	var slowest time.Duration
	for i := range 5 {
		w.exec("select pg_logical_emit_message(false, 'test', 'unwritten')")
		began := time.Now()
		w.barrier()
		slowest = max(slowest, time.Since(began))
		w.exec(fmt.Sprintf("insert into t values (%d)", i))
	}
	if slowest > 2*time.Second {
		t.Errorf("a position was reached after %v", slowest)
	}
}
