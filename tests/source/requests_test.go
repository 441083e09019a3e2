package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpujoin/shm"
	"gpujoin/tests/harness"
	"gpujoin/testsupport/backend"
)

// object is a JSON object.
type object = map[string]any

// asker is a connection of a backend that asks for a source's tables.
type asker struct {
	t testing.TB
	*backend.Conn
}

// daemonOf starts a daemon for one test.
func daemonOf(t testing.TB, options harness.DaemonOptions) *harness.Daemon {
	t.Helper()
	all := harness.DaemonOptions{"calibrate": "false", "provider": "cpu", "memory-budget": "256MB", "memory-warm": "0"}
	for k, v := range options {
		all[k] = v
	}
	d, err := shared.StartDaemonAt(filepath.Join(shared.Sock, fmt.Sprintf("requests%d", time.Now().UnixNano()%1e9)), all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func connectTo(t testing.TB, d *harness.Daemon) asker {
	t.Helper()
	c, err := backend.DialRaw(d.Socket)
	if err == nil {
		_, err = c.Hello(shm.Hello{ProtocolVersion: shm.ProtocolVersion, LayoutVersion: shm.LayoutVersion,
			LeaderPID: int32(os.Getpid()), Database: 5, SystemIdentifier: 77})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return asker{t, c}
}

// ask sends a request and returns its answer.
func ask[T any](a asker, kind shm.SourceKind, request object) (answer T, failed *backend.SourceError) {
	a.t.Helper()
	if err := a.Source(kind, request, &answer); err != nil && !errors.As(err, &failed) {
		a.t.Fatal(err)
	}
	return answer, failed
}

// must is ask without an error.
func must[T any](a asker, kind shm.SourceKind, request object) T {
	a.t.Helper()
	answer, failed := ask[T](a, kind, request)
	if failed != nil {
		a.t.Fatal(failed)
	}
	return answer
}

type pinned struct {
	Token, Position string
	Age             int64 `json:"age_us"`
	Tables          []struct {
		Direct       bool
		Reason, Hint string
		Rows         int64
	}
}

// options are those of the world's database, for a user mapping.
func (w *world) options(mapping int, more ...string) object {
	k := object{}
	for key, value := range w.keywords() {
		k[key] = value
	}
	for i := 0; i+1 < len(more); i += 2 {
		k[more[i]] = more[i+1]
	}
	return object{"database_encoding": "UTF8", "server": 16400, "mapping": mapping, "keywords": k, "publication": "", "slot": "", "max_retained_wal": 0}
}

func wantedTable(name string, columns ...string) object {
	var all []object
	for _, c := range columns {
		all = append(all, object{"name": c, "type": 20, "typmod": -1, "text": false})
	}
	return object{"schema": "public", "table": name, "mirror": true, "columns": all}
}

func (w *world) pinRequest(tables ...object) object {
	return object{"source": w.options(1), "freshness_ms": -1, "timeout_ms": 20_000, "mix": false, "mirror": true, "tables": tables, "show": false}
}

func with(o object, key string, value any) object {
	changed := object{}
	for k, v := range o {
		changed[k] = v
	}
	changed[key] = value
	return changed
}

// slots returns how many slots the world's database has.
func (w *world) slots() string {
	return w.one("select count(*) from pg_replication_slots where database = current_database()")
}

// transactions returns how many transactions of others are open in the world's database.
func (w *world) transactions() string {
	return w.one("select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'")
}

const twoTables = `
	create table a (id int8 primary key, n int8);
	create table b (id int8 primary key, n int8);
	insert into a select i, i from generate_series(1, 1000) i;
	insert into b select i, i from generate_series(1, 10) i;
	analyze`

// TestRequests: what a backend asks of a daemon in the life of a server's tables. Each commit
// that has returned is seen by the next pin.
func TestRequests(t *testing.T) {
	w := newWorld(t, shared, twoTables)
	a := connectTo(t, daemonOf(t, nil))
	src := w.options(1)
	if got := must[pinned](a, shm.SourcePin, with(w.pinRequest(wantedTable("a", "id", "n")), "mirror", false)); !got.Tables[0].Direct || w.transactions() != "1" || w.slots() != "0" {
		t.Errorf("%+v, %s transactions, %s slots", got, w.transactions(), w.slots())
	} else {
		must[object](a, shm.SourceUnpin, object{"token": got.Token})
	}
	type states struct {
		Tables []struct {
			State, Reason string
			Rows          int64
		}
	}
	got := must[states](a, shm.SourceMirror, object{"source": src, "tables": []object{wantedTable("a"), wantedTable("b")}, "wait_ms": -1})
	if got.Tables[0].State != "ready" || got.Tables[0].Rows != 1000 || got.Tables[1].Rows != 10 {
		t.Fatalf("%+v", got)
	}
	request := w.pinRequest(wantedTable("a", "id", "n"), wantedTable("b", "id"))
	position := ""
	for i := range 50 {
		w.exec(fmt.Sprintf("insert into a values (%d, 0)", 2000+i))
		p := must[pinned](a, shm.SourcePin, request)
		if p.Tables[0].Direct || p.Tables[0].Rows != int64(1001+i) {
			t.Fatalf("after %d inserts: %+v", i+1, p)
		}
		if later := w.one(fmt.Sprintf("select '%s'::pg_lsn > coalesce(nullif('%s', ''), '0/0')::pg_lsn", p.Position, position)); later != "t" {
			t.Errorf("%s after %s", p.Position, position)
		}
		position = p.Position
		must[object](a, shm.SourceUnpin, object{"token": p.Token})
	}
	type mirrors struct {
		Mirrors []struct {
			Schema, Table, State, Reason, Position, Since string
			Rows, Bytes                                   int64
			Loaded                                        int64 `json:"loaded_rows"`
		}
	}
	list := must[mirrors](a, shm.SourceMirrors, object{})
	if len(list.Mirrors) != 2 || list.Mirrors[0].Rows != 1050 || list.Mirrors[0].State != "ready" || list.Mirrors[0].Bytes == 0 || list.Mirrors[0].Loaded != 1000 {
		t.Errorf("%+v", list)
	}
	type sizes struct{ Tables []struct{ Rows, Bytes int64 } }
	if got := must[sizes](a, shm.SourceSize, object{"source": src, "tables": []object{wantedTable("a"), wantedTable("b")}}); got.Tables[0].Rows != 1050 || got.Tables[1].Bytes == 0 {
		t.Errorf("%+v", got)
	}
	type check struct {
		Rows, Missing, Extra int64
		Position             string
	}
	checkRequest := object{"source": src, "table": wantedTable("a"), "columns": wantedTable("a", "id", "n")["columns"]}
	if got := must[check](a, shm.SourceCheck, checkRequest); got.Rows != 1050 || got.Missing != 0 || got.Extra != 0 || got.Position == "" {
		t.Errorf("%+v", got)
	}
	must[object](a, shm.SourceUnmirror, object{"source": src, "tables": []object{wantedTable("a")}})
	if _, failed := ask[check](a, shm.SourceCheck, with(checkRequest, "table", wantedTable("none"))); failed == nil || failed.SQLState != "55000" {
		t.Errorf("%v", failed)
	}
	must[object](a, shm.SourceClose, object{"server": 16400, "mapping": 0})
	eventually(t, "the session's slot is dropped", func() bool { return w.slots() == "0" })
}

// TestImport: the tables of a schema, with what IMPORT FOREIGN SCHEMA needs of them.
func TestImport(t *testing.T) {
	w := newWorld(t, shared, `create schema s;
		create table s.one (id int4 not null, price numeric(15,2), name text collate "C", gone int4);
		alter table s.one drop column gone;
		comment on column s.one.price is 'in euros';
		comment on table s.one is 'the first';
		create view s.two as select 1 as x; create table s.three ()`)
	a := connectTo(t, daemonOf(t, nil))
	request := object{"source": w.options(1), "schema": "s", "only": nil, "except": []string{"three"}}
	got := must[object](a, shm.SourceImport, request)
	want := `map[tables:[` +
		`map[columns:[map[collation: comment: name:id not_null:true type:integer] map[collation: comment:in euros name:price not_null:false type:numeric(15,2)]` +
		` map[collation:pg_catalog."C" comment: name:name not_null:false type:text]] comment:the first name:one]` +
		` map[columns:[map[collation: comment: name:x not_null:false type:integer]] comment: name:two]]]`
	if fmt.Sprint(got) != want {
		t.Errorf("%v instead of %s", got, want)
	}
	if _, failed := ask[object](a, shm.SourceImport, with(request, "schema", "none")); failed == nil || failed.SQLState != "3F000" {
		t.Errorf("%v", failed)
	}
}

// TestConnectionEnds: pins, their snapshots and requests under way end with the connection.
func TestConnectionEnds(t *testing.T) {
	w := newWorld(t, shared, twoTables)
	d := daemonOf(t, harness.DaemonOptions{"idle-timeout": "1s"})
	a := connectTo(t, d)
	request := with(w.pinRequest(wantedTable("a", "id")), "mirror", false)
	must[pinned](a, shm.SourcePin, request)
	time.Sleep(1500 * time.Millisecond) // a connection with a pin may be silent
	must[pinned](a, shm.SourcePin, request)
	if n := w.transactions(); n != "2" {
		t.Errorf("%s open transactions", n)
	}
	a.Close()
	eventually(t, "the snapshots end", func() bool { return w.transactions() == "0" })

	b := connectTo(t, d)
	must[object](b, shm.SourceMirrors, object{})
	time.Sleep(1500 * time.Millisecond)
	if err := b.Source(shm.SourceMirrors, object{}, &object{}); err == nil {
		t.Error("a connection without pins may be silent for ever")
	}
}

// TestSecrets: a wrong password is an error that says what to do. The password is in no error,
// log, status or trace.
func TestSecrets(t *testing.T) {
	w := newWorld(t, newCluster(t, nil), twoTables)
	w.exec("create role reader login replication password 'the right one'; grant select on a to reader")
	w.prependHBA("local all reader scram-sha-256\n")
	trace := filepath.Join(shared.Dir, "requests.trace")
	d := daemonOf(t, harness.DaemonOptions{"trace": trace, "log-level": "debug"})
	a := connectTo(t, d)
	const secret = "never-to-be-seen"
	request := with(w.pinRequest(wantedTable("a", "id")), "source", w.options(1, "user", "reader", "password", secret))
	_, failed := ask[pinned](a, shm.SourcePin, request)
	if failed == nil || failed.SQLState != "28P01" || !strings.Contains(failed.Hint, "ALTER USER MAPPING") || strings.Contains(failed.Error(), secret) {
		t.Errorf("%v", failed)
	}
	_, failed = ask[pinned](a, shm.SourcePin, with(request, "source", w.options(1, "user", "reader", "password", secret, "secret", secret)))
	if failed == nil || failed.SQLState != "HV00D" || strings.Contains(failed.Error(), secret) {
		t.Errorf("%v", failed)
	}
	eventually(t, "the view has the reason", func() bool {
		text := fmt.Sprint(must[object](a, shm.SourceMirrors, object{}))
		if strings.Contains(text, secret) {
			t.Error(text)
		}
		return strings.Contains(text, "the source rejected the password")
	})
	if got := must[pinned](a, shm.SourcePin, with(request, "source", w.options(1, "user", "reader", "password", "the right one"))); got.Token == "" {
		t.Errorf("%+v", got)
	}
	log := d.Log()
	a.Close()
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	frames, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string][]byte{"log": []byte(log), "trace": frames} {
		for _, password := range []string{secret, "the right one"} {
			if bytes.Contains(text, []byte(password)) {
				t.Errorf("the %s has a password", what)
			}
		}
	}
	if len(frames) < 1000 || len(log) == 0 {
		t.Errorf("%d bytes of trace, %d of log", len(frames), len(log))
	}
}

// TestSourceDown: while the source is down, an interval that holds is served, and latest fails
// after its timeout and says how old the mirrors are.
func TestSourceDown(t *testing.T) {
	c := newCluster(t, nil)
	w := newWorld(t, c, twoTables)
	a := connectTo(t, daemonOf(t, nil))
	must[object](a, shm.SourceMirror, object{"source": w.options(1), "tables": []object{wantedTable("a")}, "wait_ms": -1})
	request := with(w.pinRequest(wantedTable("a", "id")), "timeout_ms", 1500)
	before := must[pinned](a, shm.SourcePin, request)
	eventually(t, "the mirrors' age is known", func() bool {
		p := must[pinned](a, shm.SourcePin, with(request, "freshness_ms", 3_600_000))
		must[object](a, shm.SourceUnpin, object{"token": p.Token})
		return !p.Tables[0].Direct
	})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	old := must[pinned](a, shm.SourcePin, with(request, "freshness_ms", 3_600_000))
	if old.Tables[0].Direct || old.Tables[0].Rows != 1000 || old.Age <= 0 {
		t.Errorf("%+v after %+v", old, before)
	}
	began := time.Now()
	_, failed := ask[pinned](a, shm.SourcePin, request)
	if took := time.Since(began); failed == nil || failed.SQLState != "57014" || !strings.Contains(failed.Detail, "s old") || took < time.Second || took > 10*time.Second {
		t.Errorf("%v after %v", failed, took)
	}
	if _, failed = ask[pinned](a, shm.SourcePin, with(request, "freshness_ms", 10)); failed == nil {
		t.Error("old mirrors are served as new ones")
	}
}
