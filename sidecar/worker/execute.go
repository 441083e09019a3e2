package worker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Execute runs the worker program once with args instead of starting it as a
// server. It uses the same probe, the same checks of the program and the same
// environment. The program's output goes to out and errOut. If the error is an
// *exec.ExitError, the program has printed the reason itself.
func Execute(ctx context.Context, config Config, args []string, out, errOut io.Writer) error {
	if err := config.Probe(); err != nil {
		return err
	}
	path, err := checkProgram(config.Path)
	if err != nil {
		return err
	}
	if config.Checksum != nil {
		sum, err := checksum(path)
		if err != nil {
			return err
		}
		if !bytes.Equal(sum, config.Checksum) {
			return fmt.Errorf("%w: %s has the checksum %x instead of the configured one", ErrProgram, path, sum)
		}
	}
	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = workerEnviron(config.Environ), out, errOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGINT) }
	cmd.WaitDelay = config.Timing.Stop
	return cmd.Run()
}
