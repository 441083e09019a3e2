package fault

import (
	"fmt"
	program "os/exec"
	"strings"
	"testing"

	"gpujoin/tests/harness/sqltest"
)

// check, run as root, reports what is true for the daemon's user: with a daemon
// that serves, and without one.
func TestCheckAsRoot(t *testing.T) {
	w := theWorld(t)
	if !sqltest.Env.Account.Switched {
		t.Skip("needs to be root")
	}
	check := func(socket string) (string, int) {
		cmd := program.Command(sqltest.Env.Daemon, "check", "--socket", socket, "--memory-budget", "256MB")
		cmd.Dir = w.Cluster.Sock
		out, _ := cmd.CombinedOutput() // the exit code is expected
		return string(out), cmd.ProcessState.ExitCode()
	}
	text, code := check(w.Daemon.Socket)
	if code != 0 || !strings.Contains(text, fmt.Sprintf("is serving as process %d", w.Daemon.PID())) {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	text, code = check(w.Cluster.Sock + "/none")
	if code != 3 || strings.Count(text, "FAILED") != 1 {
		t.Errorf("without a daemon: exit code %d:\n%s", code, text)
	}
	w.unharmed(t, nil)
}
