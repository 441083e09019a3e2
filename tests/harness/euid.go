package harness

import (
	"fmt"
	"runtime"
	"syscall"
)

// asAccount runs f with the account's user id, for what the kernel notes of
// the caller: who listens on a socket, who connects to one, who owns a file.
// Only the thread that runs f changes.
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
		// The thread must not run anything else as somebody else.
		panic(back)
	}
	return err
}

// setThreadUID changes the effective user of this thread alone, which
// syscall.Setresuid would not.
func setThreadUID(uid int) error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
		return fmt.Errorf("setresuid(%d): %w", uid, errno)
	}
	return nil
}
