package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CompileLibrary compiles a C file as a library for the cluster's server and returns its
// path, which libraries to preload can name. It ends with the cluster.
func (c *Cluster) CompileLibrary(source string, flags ...string) (string, error) {
	dir, err := os.MkdirTemp(c.Dir, "library")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	include, err := exec.Command(PGConfig(), "--includedir-server").Output()
	if err != nil {
		return "", err
	}
	library := filepath.Join(dir, "library.so")
	args := append([]string{"-shared", "-fPIC", "-w", "-I" + strings.TrimSpace(string(include)), "-o", library, source}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return library, nil
}
