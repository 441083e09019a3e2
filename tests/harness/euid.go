package harness

import (
	"fmt"
	"runtime"
	"syscall"
)

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
