package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gpujoin/sidecar/source"
	"gpujoin/tests/harness"
)

// refusal is what a source or the options lack, and the error that says so.
type refusal struct {
	name     string
	settings harness.Settings // of a server of its own; nil: the shared one
	hba      string           // lines before the others of pg_hba.conf, for a server of its own
	prepare  string           // executed by the superuser
	later    string           // executed after it, in another transaction
	user     string           // "": postgres
	keywords source.Keywords  // in place of those that would work
	options  source.Options
	table    string // "": t

	state   string // SQLSTATE
	message string // part of the message or the detail
	hint    string // part of the hint
}

// roles are two roles: one that may do everything that a mirror needs, and one that may
// only replicate.
const roles = `
	create table t (id int primary key, v text);
	insert into t select i, i from generate_series(1, 10) i;
	do $$ begin
		if not exists (select from pg_roles where rolname = 'able') then
			create role able login replication;
			create role poor login replication;
			create role plain login;
		end if;
	end $$;
	grant usage, create on schema public to able;
	alter table t owner to able;
	grant select on t to poor, plain;
	do $$ begin execute format('grant create on database %I to able', current_database()); end $$;`

var refusals = []refusal{
	{name: "option", keywords: source.Keywords{"sslcrl": "secret"}, state: "HV00D", message: "sslcrl", hint: "remove"},
	{name: "value", keywords: source.Keywords{"sslmode": "secret"}, state: "HV024", message: "sslmode", hint: "verify-full"},
	{name: "number", keywords: source.Keywords{"connect_timeout": "secret"}, state: "HV024", message: "connect_timeout", hint: "whole number"},
	{name: "no user", keywords: source.Keywords{"user": ""}, state: "HV024", message: "user is missing", hint: "user mapping"},
	{name: "root certificate", keywords: source.Keywords{"host": "127.0.0.1", "sslmode": "verify-full", "sslrootcert": "/none"}, state: "HV024", message: "/none", hint: "ssl"},
	{name: "slot name", options: source.Options{Slot: "Has Blanks"}, state: "HV024", message: "slot", hint: "lower-case"},

	{name: "nobody listens", keywords: source.Keywords{"host": "127.0.0.1", "port": "1"}, state: "08001", message: "refused", hint: "host and port"},
	{name: "no socket", keywords: source.Keywords{"host": "/none"}, state: "08001", message: "no such file", hint: "host and port"},
	{name: "no host", keywords: source.Keywords{"host": "none.invalid"}, state: "08001", message: "could not connect", hint: "host and port"},
	{name: "no database", keywords: source.Keywords{"dbname": "none"}, state: "3D000", message: "none", hint: "dbname"},
	{name: "no role", keywords: source.Keywords{"user": "none"}, state: "28000", message: "none", hint: "pg_hba.conf"},
	{name: "password", hba: "local all able scram-sha-256\n", settings: harness.Settings{}, prepare: roles + "alter role able password 'right'", user: "able",
		keywords: source.Keywords{"password": "wrong-secret"}, state: "28P01", message: "able", hint: "ALTER USER MAPPING"},
	{name: "no line in pg_hba.conf", hba: "local all able reject\n", settings: harness.Settings{}, prepare: roles, user: "able",
		state: "28000", message: "pg_hba.conf", hint: "pg_hba.conf"},
	{name: "connection limit", settings: harness.Settings{}, prepare: roles + "alter role able connection limit 0", user: "able",
		state: "53300", message: "too many", hint: "CONNECTION LIMIT"},
	{name: "no TLS", settings: harness.Settings{"listen_addresses": "'127.77.1.1'"}, hba: "host all all 127.77.1.1/8 trust\n", prepare: roles,
		keywords: source.Keywords{"host": "127.77.1.1", "sslmode": "require"}, state: "08001", message: "TLS", hint: "ssl = on"},

	{name: "wal_level", settings: harness.Settings{"wal_level": "replica"}, prepare: roles, state: "55000", message: "wal_level is replica", hint: "wal_level = logical"},
	{name: "no slot", settings: harness.Settings{"max_replication_slots": "1"},
		prepare: roles + "select pg_create_physical_replication_slot('other')", state: "53400", message: "slots", hint: "max_replication_slots"},
	{name: "no slot for loading", settings: harness.Settings{"max_replication_slots": "1"}, prepare: roles, state: "53400", message: "slots", hint: "one more while tables load"},
	{name: "no sender", settings: harness.Settings{"max_wal_senders": "0"}, prepare: roles, state: "53300", message: "max_wal_senders", hint: "max_wal_senders"},
	{name: "no REPLICATION", prepare: roles + "create publication gpujoin for table t", user: "plain", state: "42501", message: "replication", hint: "REPLICATION"},
	{name: "foreign slot", settings: harness.Settings{}, prepare: roles, later: "select pg_create_logical_replication_slot('other', 'pgoutput', false, true)",
		options: source.Options{Slot: "other"}, state: "55000", message: "two-phase true", hint: "option slot"},
	{name: "encoding", prepare: "", keywords: source.Keywords{"dbname": "ascii"}, state: "0A000", message: "SQL_ASCII", hint: "UTF8"},

	{name: "no publication", prepare: roles, user: "poor", state: "42704", message: "gpujoin", hint: `CREATE PUBLICATION "gpujoin" FOR TABLE "public"."t"`},
	{name: "not published", prepare: roles + "create publication gpujoin", user: "poor", state: "42501", message: "not in the publication",
		hint: `ALTER PUBLICATION "gpujoin" ADD TABLE ONLY "public"."t"`},
	{name: "not the owner", prepare: roles + "alter table t owner to postgres; grant select on t to able", user: "able", state: "42501", message: "not in the publication",
		hint: `ALTER PUBLICATION`},
	{name: "operations", prepare: roles + "create publication gpujoin for table t with (publish = 'insert')", state: "55000", message: "all operations", hint: "SET (publish"},
	{name: "row filter", prepare: roles + "create publication gpujoin for table t where (id > 3)", state: "55000", message: "row filter", hint: "DROP TABLE"},
	{name: "column list", prepare: roles + "create publication gpujoin for table t (id)", state: "55000", message: "list of columns", hint: "DROP TABLE"},

	{name: "no table", prepare: roles, table: "none", state: "42P01", message: "none", hint: "table_name"},
	{name: "no USAGE", prepare: roles + "revoke usage on schema public from public; create publication gpujoin for table t", user: "poor", state: "42P01", message: "schema", hint: "GRANT USAGE"},
	{name: "no SELECT", prepare: roles + "revoke select on t from poor; create publication gpujoin for table t", user: "poor", state: "42501", message: "may not read", hint: "GRANT SELECT"},
	{name: "row-level security", prepare: roles + "alter table t enable row level security; create publication gpujoin for table t", user: "poor",
		state: "42501", message: "row-level security", hint: "BYPASSRLS"},
	{name: "no key", prepare: roles + "alter table t drop constraint t_pkey", state: "0A000", message: "no primary key", hint: "PRIMARY KEY"},
	{name: "deferrable key", prepare: roles + "create table d (id int primary key deferrable)", table: "d", state: "0A000", message: "no primary key", hint: "PRIMARY KEY"},
	{name: "FULL", prepare: roles + "alter table t replica identity full", state: "0A000", message: "FULL", hint: "DEFAULT"},
	{name: "NOTHING", prepare: roles + "alter table t replica identity nothing", state: "0A000", message: "NOTHING", hint: "DEFAULT"},
	{name: "unlogged", prepare: roles + "alter table t set unlogged", state: "0A000", message: "unlogged", hint: "SET LOGGED"},
	{name: "view", prepare: roles + "create view v as select * from t", table: "v", state: "0A000", message: "view", hint: "base tables"},
	{name: "partitioned", prepare: roles + "create table p (id int primary key) partition by range (id)", table: "p", state: "0A000", message: "partitioned", hint: "partitions"},
	{name: "inherited", prepare: roles + "create table child () inherits (t)", state: "0A000", message: "inherit", hint: "import these"},
}

// Each thing that is missing is one error, which says what to do and shows no secret.
func TestRefusals(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			cluster := shared
			if r.settings != nil {
				cluster = newCluster(t, r.settings)
			}
			err := r.errorOf(t, newWorld(t, cluster, r.prepare))
			var e *source.Error
			if !errors.As(err, &e) {
				t.Fatalf("no error with a SQLSTATE: %v", err)
			}
			if e.SQLState != r.state || !strings.Contains(e.Message+": "+e.Detail, r.message) || !strings.Contains(e.Hint, r.hint) {
				t.Errorf("SQLSTATE %s, message %q, detail %q, hint %q", e.SQLState, e.Message, e.Detail, e.Hint)
			}
			if e.Hint == "" || strings.Contains(err.Error(), "secret") {
				t.Errorf("no hint, or a secret: %v", err)
			}
		})
	}
}

// errorOf returns the error of opening a session or of mirroring a table.
func (r refusal) errorOf(t *testing.T, w *world) error {
	t.Helper()
	if r.hba != "" {
		w.prependHBA(r.hba)
	}
	if r.later != "" {
		w.exec(r.later)
	}
	if r.keywords["dbname"] == "ascii" {
		w.exec("create database ascii encoding 'SQL_ASCII' template template0 locale 'C'")
	}
	o := r.options
	o.Keywords = w.keywords()
	if r.user != "" {
		o.Keywords["user"] = r.user
	}
	for k, v := range r.keywords {
		o.Keywords[k] = v
	}
	s, err := source.Open(o, w.recorder, slog.New(slog.NewTextHandler(logOf(t), nil)))
	if err != nil {
		return err
	}
	defer s.Close()
	name := source.Name{Schema: "public", Table: "t"}
	if r.table != "" {
		name.Table = r.table
	}
	s.Mirror(name)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// Errors that may pass do not end the wait.
	for ctx.Err() == nil {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		err = s.Wait(short, name)
		cancel()
		if err == nil {
			t.Fatal("the table is mirrored")
		}
		for _, candidate := range append([]error{err, s.Status().Reason}, reasons(s)...) {
			var e *source.Error
			if errors.As(candidate, &e) {
				return candidate
			}
		}
	}
	return err
}

func reasons(s *source.Session) []error {
	var all []error
	for _, t := range s.Status().Tables {
		all = append(all, t.Reason)
	}
	return all
}

// Options show no secret, however they are printed.
func TestOptionsShowNoSecret(t *testing.T) {
	o := source.Options{Keywords: source.Keywords{"host": "db1", "password": "hidden", "sslpassword": "hidden"}}
	var text strings.Builder
	slog.New(slog.NewJSONHandler(&text, nil)).Info("x", "options", o, "keywords", o.Keywords)
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", "options", o, "keywords", o.Keywords)
	fmt.Fprintf(&text, "%v %+v %#v %s %v %+v", o, o, o, o.Keywords, o.Keywords, &o)
	if strings.Contains(text.String(), "hidden") || !strings.Contains(text.String(), "db1") {
		t.Error(text.String())
	}
}
