package fault

import (
	"bytes"
	"fmt"
	"os"
	program "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness/point"
	"gpujoin/tests/harness/sqltest"
)

// memoryGroup makes a control group with a memory limit: below this process's
// own for version 1, else next to it. The test removes it at the end. It
// returns the group's directory.
func memoryGroup(t *testing.T, limitBytes int64) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skipf("needs control groups: %v", err)
	}
	var dir, limit string
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case strings.Contains(parts[1], "memory"):
			dir, limit = filepath.Join("/sys/fs/cgroup/memory", parts[2]), "memory.limit_in_bytes"
		case parts[1] == "" && dir == "":
			dir, limit = filepath.Join("/sys/fs/cgroup", filepath.Dir(parts[2])), "memory.max"
		}
	}
	group := filepath.Join(dir, fmt.Sprintf("gpujoin-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("needs to be root, with a file system of control groups that it may write to: %v", err)
	}
	t.Cleanup(func() {
		for deadline := time.Now().Add(patience); os.Remove(group) != nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%s cannot be removed", group)
				return
			}
		}
	})
	if err := os.WriteFile(filepath.Join(group, limit), strconv.AppendInt(nil, limitBytes, 10), 0o644); err != nil {
		t.Skipf("needs the controller for memory: %v", err)
	}
	return group
}

// A daemon whose control group allows 500 MB measures its rates and serves
// within that limit, with a budget that is a fraction of it.
func TestMemoryLimitOfGroup(t *testing.T) {
	point.Point{What: "in a memory cgroup of 500 MB", Process: daemon, Moment: "from its start", Shape: serialJoin, Expect: "offloaded, within a budget of a quarter of the limit", Limit: 120}.Announce(t)
	w := theWorld(t)
	if !sqltest.Env.Account.Switched {
		t.Skip("needs to be root, to make a control group")
	}
	group := memoryGroup(t, 500e6)
	socket := filepath.Join(w.Cluster.Sock, "limited")
	// The shell enters the group and becomes the daemon, as the server's user.
	daemon := program.Command("sh", "-c", `echo $$ > "$0"/cgroup.procs && exec setpriv --reuid="$1" --regid="$2" --clear-groups "$3" serve --socket "$4"`,
		group, strconv.Itoa(sqltest.Env.Account.UID), strconv.Itoa(sqltest.Env.Account.GID), sqltest.Env.Daemon, socket)
	var log bytes.Buffer
	daemon.Stdout, daemon.Stderr, daemon.Dir = &log, &log, w.Cluster.Sock
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	t.Cleanup(func() {
		_ = daemon.Process.Kill() // fails if it has ended
		<-ended
		for _, suffix := range []string{"", ".lock", ".status", ".rates"} {
			_ = os.Remove(socket + suffix) // may not exist
		}
	})
	deadline := time.Now().Add(time.Minute)
	for ; ; time.Sleep(20 * time.Millisecond) {
		if err := sqltest.Env.Account.Command(w.Cluster.Dir, sqltest.Env.Daemon, "check", "--socket", socket).Run(); err == nil {
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the daemon ended: %v\n%s", err, log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the daemon does not serve")
		}
	}
	s := w.Session(t, forced, "set gpujoin.socket = '"+socket+"'")
	for ; ; time.Sleep(20 * time.Millisecond) { // a process in the same group measures
		if r := query(t, s, "select rates from gpujoin.status()"); r.Rows[0] == "measured" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the rates are not measured:\n%s", log.String())
		}
	}
	if r := query(t, s, "select budget between 100e6 and 125e6 from gpujoin.status()"); r.Rows[0] != "t" {
		t.Error("the budget is no quarter of 500 MB")
	}
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, "analyze, timing off", theSum)
	if err != nil || plan.OffloadedJoins() != 1 {
		t.Errorf("not offloaded: %v, %v", err, plan.OffloadJoins())
	}
	w.right(t, theSum, <-ask(s, theSum))
}
