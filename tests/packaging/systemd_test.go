// Package packaging checks files that are installed in addition to programs.
package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// systemd accepts the unit that make install writes, and the unit leaves the
// daemon few privileges.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "packaging", "systemd", "gpujoind.service"))
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "gpujoind.service")
	installed := strings.ReplaceAll(string(text), "@BINDIR@", filepath.Join(root, "build", "bin"))
	if err := os.WriteFile(unit, []byte(installed), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	// The exposure is at most 3.0; that of an unconfined service is 9.6.
	if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=30", unit).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
