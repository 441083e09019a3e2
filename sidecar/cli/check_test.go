package cli

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestCheckSpool: a directory in which unread results cannot be on disk does not pass.
func TestCheckSpool(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[[2]string]string{
		{"--spool-limit", "0"}:       `spool +ok +unread results stay in memory`,
		{"--spool-dir", dir + "/no"}: `spool +FAILED .*no such file`,
		{"--spool-dir", "/dev/shm"}:  `spool +FAILED +/dev/shm is in memory`,
	} {
		_, out := gpujoind("check", "--socket", filepath.Join(dir, "s"), "--provider", "cpu", args[0], args[1])
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%v: no %q in:\n%s", args, want, out)
		}
	}
}
