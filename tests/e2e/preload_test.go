package e2e

import (
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// The library is preloaded together with others as install.md says. A list in
// one pair of quotes prevents all connections until it is reset.
func TestPreloadLibraries(t *testing.T) {
	w := theWorld(t)
	s, err := w.Cluster.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	exec(t, s, "create database preloading")
	defer exec(t, s, "drop database preloading")
	alter := "alter database preloading "
	loaded := func() (string, error) {
		in, err := w.Cluster.ConnectAs(t.Context(), "postgres", "preloading")
		if err != nil {
			return "", err
		}
		defer in.Close()
		r := query(t, in, `select name from pg_settings where name in ('gpujoin.enabled', 'auto_explain.log_analyze') order by 1`)
		return strings.Join(r.Rows, " "), nil
	}
	both := "auto_explain.log_analyze gpujoin.enabled"
	for _, c := range []struct{ set, want string }{
		{"set session_preload_libraries = auto_explain", "auto_explain.log_analyze"},
		{"set session_preload_libraries = gpujoin", "gpujoin.enabled"}, // replaces
		{"set session_preload_libraries = gpujoin, auto_explain", both},
		{"set session_preload_libraries = 'gpujoin', 'auto_explain'", both},
	} {
		exec(t, s, alter+c.set)
		if got, err := loaded(); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.set, got, err)
		}
	}
	exec(t, s, alter+"set session_preload_libraries = 'gpujoin, auto_explain'")
	if _, err := loaded(); harness.SQLState(err) != "58P01" {
		t.Errorf("a list in one pair of quotes: %v", err)
	}
	exec(t, s, alter+"reset session_preload_libraries")
	if got, err := loaded(); err != nil || got != "gpujoin.enabled" { // the server's
		t.Errorf("after the reset: %q, %v", got, err)
	}
}
