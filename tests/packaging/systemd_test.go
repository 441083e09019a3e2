// Package packaging checks what is installed beside programs, and how.
package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gpujoin/tests/harness"
)

// systemd accepts the units that make install and the packages install, and they leave the
// daemon few privileges.
func TestUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command(filepath.Join(root, "tools", "units.sh"), filepath.Join(root, "build", "bin"), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// systemd-analyze reads a template by the name of an instance.
	instance := filepath.Join(dir, "gpujoind@15-main.service")
	if err := os.Symlink("gpujoind@.service", instance); err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{filepath.Join(dir, "gpujoind.service"), instance} {
		if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		// The exposure is at most 2.0; that of an unconfined service is 9.6.
		if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=20", unit).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}
