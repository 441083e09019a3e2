package harness

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
)

// Account is the unprivileged user that runs the server and the daemon.
// PostgreSQL refuses to run as root, and each side demands that its peer is the
// same user, so as root both run as "postgres", otherwise as the current user.
type Account struct {
	UID, GID int
	// Switched: processes need credentials other than the current ones.
	Switched bool
}

// FindAccount returns the account for this run.
func FindAccount() (Account, error) { return findAccount("postgres") }

// findAccount returns the first existing user of the names, if the current user
// is root.
func findAccount(names ...string) (Account, error) {
	if os.Geteuid() != 0 {
		return Account{UID: os.Geteuid(), GID: os.Getegid()}, nil
	}
	var missing error
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			missing = err
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return Account{}, fmt.Errorf("uid of %s: %w", name, err)
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			return Account{}, fmt.Errorf("gid of %s: %w", name, err)
		}
		return Account{UID: uid, GID: gid, Switched: true}, nil
	}
	return Account{}, fmt.Errorf("running as root needs another user for the server, such as PostgreSQL's package makes: %w", missing)
}

// Command prepares a process that will run as the account, in dir.
func (a Account) Command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PGOPTIONS=", "PGDATA=")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if a.Switched {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}
	}
	return cmd
}

// Mkdir makes a directory that only the account may access.
func (a Account) Mkdir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	if a.Switched {
		return os.Chown(path, a.UID, a.GID)
	}
	return nil
}

// canEnter reports whether the account can list and enter dir, given the modes
// of all directories above.
func (a Account) canEnter(dir string) bool {
	cmd := a.Command("/", "/bin/sh", "-c", `test -r "$0" && cd "$0"`, dir)
	return cmd.Run() == nil
}

// asAccount runs f with the account's user id, for credentials that the kernel
// records: of the process that listens on or connects to a socket, and of a
// file's owner. Only the thread that runs f changes.
func (a Account) asAccount(f func() error) error {
	if !a.Switched {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := setThreadUID(a.UID); err != nil {
		return err
	}
	err := f()
	if back := setThreadUID(0); back != nil {
		// The thread must not run anything else with the wrong user id.
		panic(back)
	}
	return err
}

// setThreadUID changes the effective user of this thread alone, unlike
// syscall.Setresuid.
func setThreadUID(uid int) error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
		return fmt.Errorf("setresuid(%d): %w", uid, errno)
	}
	return nil
}
