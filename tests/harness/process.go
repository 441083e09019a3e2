package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a child that dies with this process: the kernel signals it when
// the thread that started it ends, and that thread is kept for ever.
type Process struct {
	cmd  *exec.Cmd
	name string
	log  string
	done chan struct{}
	err  error
}

var (
	starterOnce sync.Once
	starter     chan func()
)

func onStarterThread(f func()) {
	starterOnce.Do(func() {
		starter = make(chan func())
		go func() {
			runtime.LockOSThread()
			for f := range starter {
				f()
			}
		}()
	})
	done := make(chan struct{})
	starter <- func() { f(); close(done) }
	<-done
}

// startProcess starts cmd and appends its output to the file log.
func startProcess(cmd *exec.Cmd, name, log string, death syscall.Signal) (*Process, error) {
	f, err := openLog(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return startProcessWith(cmd, name, f, log, death)
}

func openLog(log string) (*os.File, error) {
	return os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

// startProcessWith starts cmd with its output to out, which writes to the file log.
func startProcessWith(cmd *exec.Cmd, name string, out *os.File, log string, death syscall.Signal) (p *Process, err error) {
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr.Pdeathsig = death
	onStarterThread(func() { err = cmd.Start() })
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p = &Process{cmd: cmd, name: name, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process, not to its children.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %v to %s: %w", s, p.name, err)
	}
	return nil
}

// Exited reports whether the process has ended.
func (p *Process) Exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Stop sends the signals one after the other and waits for patience after each;
// then it sends SIGKILL.
func (p *Process) Stop(patience time.Duration, signals ...syscall.Signal) error {
	for _, s := range signals {
		if err := p.Signal(s); errors.Is(err, os.ErrProcessDone) {
			break
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(patience):
		}
	}
	if p.Exited() {
		return nil
	}
	_ = p.cmd.Process.Kill() // fails only if it has just ended
	<-p.done
	return fmt.Errorf("%s did not stop within %v and was killed; its log ends:\n%s", p.name, patience, p.LogTail(20))
}

// Log returns the output of the process.
func (p *Process) Log() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// LogTail returns the last n lines of the output.
func (p *Process) LogTail(n int) string {
	lines := strings.Split(strings.TrimRight(p.Log(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
