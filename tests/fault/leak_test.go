package fault

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"gpujoin/tests/harness"
)

// steps run one round of good and bad session activity.
func steps(t *testing.T, w *world, s *harness.Session, round int) {
	fails := func(sql, state string) {
		t.Helper()
		ended(t, (<-ask(s, sql)).err, state)
	}
	exec(t, s, fmt.Sprintf("set max_parallel_workers_per_gather = %d", round%3))
	query(t, s, theSum)
	fails("select sum(1 / (d.v - 20000)) from fact f join dim d on f.k = d.k", "22012")
	exec(t, s, "begin; declare c cursor for "+theJoin)
	query(t, s, "fetch 10 from c")
	exec(t, s, "savepoint a")
	fails("select 1 / (d.v - d.v) from fact f join dim d on f.k = d.k", "22012")
	exec(t, s, "rollback to a")
	query(t, s, "fetch 10 from c")
	if round%2 == 0 {
		exec(t, s, "rollback")
	} else {
		exec(t, s, "close c; commit")
	}
	query(t, s, "select * from ("+theJoin+") x limit 5")
	query(t, s, "explain (analyze, timing off) "+theSum)
	switch round % 5 {
	case 0:
		exec(t, s, "set statement_timeout = '5ms'")
		if a := <-ask(s, theJoin); a.err != nil && harness.SQLState(a.err) != "57014" {
			t.Error(a.err)
		}
		exec(t, s, "reset statement_timeout")
	case 1:
		h := w.Proxy.HoldFrame(harness.MsgResult, 2)
		done := ask(s, theJoin)
		select {
		case <-h.Reached:
			h.Cut()
			if a := <-done; a.err != nil {
				lost(t, a.err)
			}
		case a := <-done:
			t.Errorf("no second result: %v", a.err)
		}
	case 2: // an error, as for a value too long for its column
		exec(t, s, "set gpujoin.queue_timeout = 0")
		query(t, s, "select count(*) from big b join dim d on b.k = d.k where length(b.value) > 0")
		exec(t, s, "reset gpujoin.queue_timeout")
	case 3:
		query(t, s, "select t.g, (select count(*) from fact f join dim d on f.k = d.k where f.g < t.g) from tiny t where t.g < 3")
	case 4:
		query(t, s, "prepare p as "+theSum)
		query(t, s, "execute p")
		query(t, s, "deallocate p")
	}
}

// After several hundred queries of all kinds, backend and daemon hold what they
// held after the first ones. The kernel frees a memfd that is neither open nor
// mapped, so counting descriptors and mappings finds every leak.
func TestNothingLeaks(t *testing.T) {
	w := theWorld(t)
	s := w.proxied(t)
	observer := w.Session(t)
	type state struct {
		backend, daemon harness.Holdings
		extents         int
		connections     int
		memory          int64 // of the backend's memory contexts
	}
	look := func() (st state) {
		t.Helper()
		settled(t, observer)
		memory := query(t, s, "select sum(total_bytes) from pg_backend_memory_contexts").Rows[0]
		var err error
		if st.memory, err = strconv.ParseInt(memory, 10, 64); err != nil {
			t.Fatal(err)
		}
		if st.backend, err = harness.HoldingsOf(s.PID()); err != nil {
			t.Fatal(err)
		}
		st.extents = reportOf(t, observer).Pool.Extents
		// The daemon notices closed connections a moment later; only its
		// listening socket remains.
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			st.connections = w.Proxy.Connections()
			if st.daemon, err = harness.HoldingsOf(w.Daemon.PID()); err != nil {
				t.Fatal(err)
			}
			if st.connections == 0 && st.daemon.Sockets == 1 {
				break
			}
		}
		return st
	}
	const rounds = 30
	for round := range 10 {
		steps(t, w, s, round)
	}
	before := look()
	for round := range rounds {
		steps(t, w, s, round)
	}
	after := look()
	if after.backend != before.backend {
		t.Errorf("the backend held %+v, then %+v", before.backend, after.backend)
	}
	// The bound is less than one page per statement.
	if grown := after.memory - before.memory; grown > 1<<20 {
		t.Errorf("the backend's memory grew by %d bytes", grown)
	}
	if after.connections != 0 {
		t.Errorf("%d connections are open", after.connections)
	}
	// The pool may keep the extents of the busiest moment, one descriptor each,
	// and no more.
	if grown := after.daemon.FDs - after.daemon.MemFDs - (before.daemon.FDs - before.daemon.MemFDs); grown > 0 {
		t.Errorf("the daemon has %d more descriptors that are no memfds: %+v, then %+v", grown, before.daemon, after.daemon)
	}
	if after.daemon.MemFDs != after.extents {
		t.Errorf("the daemon has %d memfds for %d extents", after.daemon.MemFDs, after.extents)
	}
	if after.extents > before.extents+4 {
		t.Errorf("the pool grew from %d to %d extents", before.extents, after.extents)
	}
	if after.backend.MemFDs != 0 || after.backend.Mapped != 0 {
		t.Errorf("the backend holds %+v", after.backend)
	}
	if held := int64(after.extents) * extentSize; after.daemon.Mapped > held {
		t.Errorf("the daemon maps %d bytes of memfds for %d bytes of extents", after.daemon.Mapped, held)
	}
	w.unharmed(t, s)
}
