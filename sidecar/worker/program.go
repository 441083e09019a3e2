package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
)

// ErrProgram reports a program that must not be started.
var ErrProgram = errors.New("unusable worker program")

// checkProgram returns the resolved path of the program if only its owner and
// root can modify or replace it. The program is executed after its checksum is
// compared, and no other user must be able to replace it in between.
func checkProgram(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrProgram, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", fmt.Errorf("%w: %w", ErrProgram, err)
	}
	for at := real; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Stat(at, &st); err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrProgram, at, err)
		}
		sticky := at != real && st.Mode&unix.S_ISVTX != 0 // a sticky directory: only an entry's owner can rename it
		switch {
		case at == real && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0):
			return "", fmt.Errorf("%w: %s is not a program", ErrProgram, at)
		case st.Uid != 0 && st.Uid != uint32(os.Geteuid()):
			return "", fmt.Errorf("%w: %s belongs to user %d", ErrProgram, at, st.Uid)
		case st.Mode&0o022 != 0 && !sticky:
			return "", fmt.Errorf("%w: other users can write to %s (mode %04o)", ErrProgram, at, st.Mode&0o7777)
		}
		if at == filepath.Dir(at) {
			return real, nil
		}
	}
}

// checksum returns the SHA-256 of a file.
func checksum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	return h.Sum(nil), nil
}

// prepareSockets creates the directory for the child's socket and empties it,
// since a killed child leaves its socket behind.
func prepareSockets(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != uint32(os.Geteuid()) || st.Mode&0o077 != 0 {
		return fmt.Errorf("%s is not a directory of mode 0700 that belongs to the daemon's user (mode %04o, user %d)", dir, st.Mode&0o7777, st.Uid)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// passed lists the variables that a child inherits: the library path and the
// visible devices. It inherits no others, such as passwords.
var passed = []string{"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"}

// workerEnviron returns the environment of the worker program, derived from
// environ. It makes CUDA load kernels at start: a kernel loaded at its first
// use would wait for the kernels that are running.
func workerEnviron(environ []string) []string {
	out := []string{"CUDA_MODULE_LOADING=EAGER"}
	for _, e := range environ {
		if name, _, _ := strings.Cut(e, "="); slices.Contains(passed, name) {
			out = append(out, e)
		}
	}
	return out
}

// childEnviron returns the environment of a child that serves jobs.
func childEnviron(environ []string, sockets string) []string {
	return append(workerEnviron(environ), plugin.EnvUnixSocketDir+"="+sockets)
}

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
