package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BuildWorker builds the worker that replaces gpujoin-cuda on machines without
// a GPU. It puts an empty file next to it as the driver's library, for a daemon
// with that directory in LD_LIBRARY_PATH.
func (e *Env) BuildWorker() (program string, err error) {
	release, err := lock(filepath.Join(e.Work, "pg.lock"))
	if err != nil {
		return "", err
	}
	defer release()
	dir := filepath.Join(e.Work, "worker")
	program = filepath.Join(dir, "testworker")
	cmd := exec.Command("go", "build", "-trimpath", "-o", program, "./testsupport/worker")
	cmd.Dir = e.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, os.WriteFile(filepath.Join(dir, "libcuda.so.1"), nil, 0o644)
}
