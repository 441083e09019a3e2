package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// A daemon that may open no more files cannot create extents. The query runs
// natively, and its reason names what is missing.
func TestNoDescriptorsLeft(t *testing.T) {
	w := theWorld(t)
	options := harness.DaemonOptions{}
	for k, v := range daemonOptions {
		options[k] = v
	}
	options["memory-warm"] = "0"
	d, err := w.c.StartDaemonAt(w.c.Sock+"/poor", options)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.c.StartProxy("poor-proxy", d)
	if err != nil {
		t.Fatal(errors.Join(err, d.Stop()))
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), d.Stop()); err != nil {
			t.Error(err)
		}
	})
	// The daemon's user may change its limits; root may lack the capability.
	limit := func(args ...string) string {
		t.Helper()
		out, err := env.Account.Command(w.c.Dir, "prlimit", append([]string{"--pid", fmt.Sprint(d.PID())}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("prlimit: %v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	files := limit("--nofile", "--output", "SOFT", "--noheadings")
	s := w.session(t, forced, serial, "set gpujoin.socket = '"+p.Socket+"'")
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
