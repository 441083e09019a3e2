package foreign

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
)

// remains returns what mirrors have left in the source's database: slots and publications.
func (w *world) remains() string {
	w.t.Helper()
	return w.source.one(`select (select coalesce(string_agg(case when temporary then 'temporary' else slot_name end, ' '), 'no slot') from pg_replication_slots where database = current_database())
		|| ', ' || (select coalesce(string_agg(pubname, ' '), 'no publication') from pg_publication)`)
}

// nothingRemains waits until the source has neither slots nor publications of mirrors.
func (w *world) nothingRemains(what string) {
	w.t.Helper()
	eventually(w.t, "nothing remains at the source after "+what, func() bool { return w.remains() == "no slot, no publication" })
}

// What is dropped here leaves nothing at the source, also if the source has to be waited for.
func TestDrop(t *testing.T) {
	for name, c := range map[string]struct{ drop, slot string }{
		"server":    {"drop server src cascade", "kept_drop_server"},
		"temporary": {"drop server src cascade", ""},
		"mapping":   {"drop user mapping for postgres server src", "kept_drop_mapping"},
		"extension": {"drop extension gpujoin cascade", "kept_drop_extension"},
		"each":      {"drop schema src cascade; drop user mapping for postgres server src; drop server src", "kept_drop_each"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shared, small)
			options := map[string]string{}
			if c.slot != "" {
				options["slot"] = c.slot
			}
			w.imports(options, "t")
			want := c.slot + ", gpujoin"
			if c.slot == "" {
				want = "temporary, gpujoin"
			}
			eventually(t, "the slot of the load is gone", func() bool { return w.remains() == want })
			w.local.exec("begin; " + c.drop + "; rollback")
			w.same("select count(*) from t")
			w.local.exec("begin; savepoint s; " + c.drop + "; rollback to s; commit")
			if p := w.local.plan("select count(*) from t"); p.Mirrored != 1 {
				t.Errorf("after a rollback: %q", p.Reasons)
			}
			w.local.exec(c.drop)
			w.nothingRemains(c.drop)
		})
	}
}

// A database that is dropped takes its sessions with it.
func TestDropDatabase(t *testing.T) {
	w := newWorld(t, shared, small)
	w.imports(map[string]string{"slot": "kept_drop_database"}, "t")
	admin, err := w.Local.Connect(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.Exec(bounded(t), "drop database "+w.database+" with (force)"); err != nil {
		t.Fatal(err)
	}
	w.nothingRemains("DROP DATABASE")
}

// A publication that its owner has made stays, and so does one that another mapping's slot may need.
func TestDropLeavesOthers(t *testing.T) {
	w := newWorld(t, shared, small+"create publication theirs for table t")
	w.imports(map[string]string{"publication": "theirs", "slot": "kept_leaves"}, "t")
	w.local.exec("drop server src cascade")
	eventually(t, "the slot is gone", func() bool { return w.remains() == "no slot, theirs" })
	w.source.exec("drop publication theirs")

	w.server("one", nil, nil)
	w.server("two", nil, nil)
	w.local.exec(foreign.ImportSQL("one") + ";" + foreign.ImportSQL("two"))
	w.mirror("one.t", "two.t")
	w.local.exec("drop server one cascade")
	eventually(t, "one session is left", func() bool { return w.remains() == "temporary, gpujoin" })
	time.Sleep(200 * time.Millisecond)
	if p := w.local.plan("select count(*) from two.t"); p.Mirrored != 1 || w.remains() != "temporary, gpujoin" {
		t.Errorf("%q, %s", p.Reasons, w.remains())
	}
}

// The mirror of a foreign table goes with the last table that leads to it.
func TestDropTable(t *testing.T) {
	w := newWorld(t, shared, small+"create table other (id int primary key)")
	w.imports(nil, "t", "other")
	w.local.exec("create foreign table public.twin (id int, v text) server src options (schema_name 'public', table_name 't')")
	mirrors := func() string {
		return w.local.one(`select coalesce(string_agg("table", ' ' order by "table"), '') from gpujoin.mirrors`)
	}
	w.local.exec("drop foreign table src.t")
	if p := w.local.plan("select * from twin"); p.Mirrored != 1 || mirrors() != "other t" {
		t.Errorf("%q, %s", p.Reasons, mirrors())
	}
	w.local.exec("begin; drop foreign table twin; rollback; drop foreign table src.other")
	eventually(t, "one mirror is left", func() bool { return mirrors() == "t" })
	if p := w.local.plan("select * from twin"); p.Mirrored != 1 {
		t.Errorf("%q", p.Reasons)
	}
	w.local.exec("drop foreign table twin")
	eventually(t, "no mirror is left", func() bool { return mirrors() == "" })
}

// A slot whose name is altered is dropped, too: it would hold back WAL for ever.
func TestSlotRenamed(t *testing.T) {
	w := newWorld(t, shared, small)
	w.imports(map[string]string{"slot": "kept_old"}, "t")
	w.local.exec("alter server src options (set slot 'kept_new')")
	w.mirror("t")
	eventually(t, "only the new slot is left", func() bool { return w.remains() == "kept_new, gpujoin" })
	w.local.exec("drop server src cascade")
	w.nothingRemains("DROP SERVER")
}

// While the source is down, the daemon goes on trying; a daemon that was restarted has what it needs
// from the command. Without a daemon, the command says what remains.
func TestDropWithoutSource(t *testing.T) {
	w := newWorld(t, startFor(t, foreign.Options{}), small)
	w.imports(map[string]string{"slot": "kept_down"}, "t")
	if err := w.Source.Server().Stop(patience, syscall.SIGINT, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	w.local.exec("drop server src cascade")
	if err := w.Source.Start(); err != nil {
		t.Fatal(err)
	}
	w.source = w.connect(w.Source)
	w.nothingRemains("a restart of the source")

	w.imports(map[string]string{"slot": "kept_restarted"}, "t")
	if err := w.KillDaemon(0); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sender has ended", func() bool { return w.source.one("select count(*) from pg_stat_replication") == "0" })
	w.local.exec("drop server src cascade")
	w.nothingRemains("a restart of the daemon")

	w.imports(map[string]string{"slot": "kept_alone"}, "t")
	if err := w.Daemon.Kill(); err != nil {
		t.Fatal(err)
	}
	w.local.Notices()
	w.local.exec("drop server src cascade")
	notices := strings.Join(w.local.Notices(), "\n")
	if !strings.Contains(notices, "WARNING: gpujoind could not be told that a user mapping of foreign server \"src\" was dropped") ||
		!strings.Contains(notices, `replication slot "kept_alone" may remain`) {
		t.Errorf("%s", notices)
	}
	if w.remains() != "kept_alone, gpujoin" {
		t.Errorf("%s", w.remains())
	}
	d, err := w.Local.StartDaemon(harness.DaemonOptions{"calibrate": "false"})
	if err != nil {
		t.Fatal(err)
	}
	w.Daemon = d
}
