package e2e

import (
	"os"
	program "os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// ALTER EXTENSION UPDATE makes of version 0.1 exactly what CREATE EXTENSION makes: the same
// objects with the same definitions, comments and privileges.
func TestUpdate(t *testing.T) {
	w := theWorld(t)
	s, err := w.Cluster.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	released, err := os.ReadFile(filepath.Join("testdata", "gpujoin--0.1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	installed := filepath.Join(w.Cluster.Env.Prefix.Share, "extension", "gpujoin--0.1.sql")
	if err := os.WriteFile(installed, released, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(installed)

	objects := map[string]string{}
	for _, c := range []struct{ database, create string }{
		{"created", "create extension gpujoin"},
		{"updated", "create extension gpujoin version '0.1'; select gpujoin.status(); alter extension gpujoin update"},
	} {
		exec(t, s, "create database "+c.database)
		defer exec(t, s, "drop database "+c.database)
		in, err := w.Cluster.ConnectAs(t.Context(), "postgres", c.database)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		exec(t, in, c.create)
		if got := query(t, in, "select daemon from gpujoin.status()").Rows[0]; got != "running" {
			t.Errorf("%s: the daemon is %q", c.database, got)
		}
		objects[c.database] = dumpOf(t, w, c.database)
	}
	if !strings.Contains(objects["created"], "CREATE VIEW gpujoin.devices ") {
		t.Fatalf("the dump lacks the extension's objects:\n%s", objects["created"])
	}
	if objects["created"] != objects["updated"] {
		t.Errorf("created and updated installations differ:\n%s", difference(objects["created"], objects["updated"]))
	}
}

// unlike matches what differs between two databases of the same content: the identifiers
// that pg_upgrade keeps, and names of the database.
var unlike = regexp.MustCompile(`(?m)^SELECT pg_catalog\.binary_upgrade_set_next_.*$|^-- (Dumped|Started|Completed) .*$|^\\(un)?restrict .*$|relfrozenxid = '\d+', relminmxid = '\d+'`)

// dumpOf returns the definition of every object of a database, those of extensions
// included, as pg_upgrade moves it to another server.
func dumpOf(t *testing.T, w *sqltest.World, database string) string {
	t.Helper()
	dump := program.Command(filepath.Join(w.Cluster.Env.Prefix.SystemBin, "pg_dump"), "--schema-only", "--binary-upgrade",
		"--host="+w.Cluster.Sock, "--port="+strconv.Itoa(harness.Port), "--username=postgres", database)
	out, err := dump.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return unlike.ReplaceAllString(string(out), "")
}

// difference returns the lines that only one of two texts has.
func difference(a, b string) string {
	var lines strings.Builder
	only := func(sign, a, b string) {
		others := map[string]bool{}
		for line := range strings.Lines(b) {
			others[line] = true
		}
		for line := range strings.Lines(a) {
			if !others[line] {
				lines.WriteString(sign + line)
			}
		}
	}
	only("-", a, b)
	only("+", b, a)
	return lines.String()
}
