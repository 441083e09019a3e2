package fault

import (
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
	"gpujoin/tests/harness/sqltest"
)

// A daemon that may open no more files cannot create extents. The query runs
// natively, and its reason names what is missing.
func TestNoDescriptorsLeft(t *testing.T) {
	point.Point{What: "no descriptor left", Process: daemon, Moment: "first want", Shape: serialJoin, Expect: point.AllRows}.Announce(t)
	w := theWorld(t)
	d := w.daemonWith(t, "poor", harness.DaemonOptions{"memory-warm": "0"})
	p, err := w.Cluster.StartProxy("poor-proxy", d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	// The daemon's user may change its limits; root may lack the capability.
	limit := func(args ...string) string {
		t.Helper()
		out, err := sqltest.Env.Account.Command(w.Cluster.Dir, "prlimit", append([]string{"--pid", fmt.Sprint(d.PID())}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("prlimit: %v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	files := limit("--nofile", "--output", "SOFT", "--noheadings")
	s := w.Session(t, forced, serial, "set gpujoin.socket = '"+p.Socket+"'")
	hold := p.HoldFrame(harness.MsgWant, 1)
	fallback := make(chan string, 1)
	go func() { fallback <- fallbackOf(t, s, theSum) }()
	<-hold.Reached
	limit("--nofile=1:")
	hold.Release()
	if text := <-fallback; !strings.Contains(text, "no more memory: ") || !strings.Contains(text, "too many open files") {
		t.Errorf("Fallback %q", text)
	}
	limit("--nofile=" + files + ":")
	exec(t, s, "set gpujoin.socket = '"+d.Socket+"'")
	if reasons := query(t, s, "select reasons from gpujoin.status()").Rows[0]; reasons != `{"resources": 1}` {
		t.Errorf("the daemon counts %s", reasons)
	}
	if text := fallbackOf(t, s, theSum); text != "" {
		t.Errorf("with descriptors again: Fallback %q", text)
	}
	w.unharmed(t, nil)
}
