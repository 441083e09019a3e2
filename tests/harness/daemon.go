package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Daemon is a gpujoind for a cluster.
type Daemon struct {
	*Process
	Socket string
}

// DaemonOptions are flags of gpujoind serve, without the leading dashes.
type DaemonOptions map[string]string

// StartDaemon starts a daemon at DaemonSocket and waits until it serves, and has
// measured the machine unless options forbid that.
func (c *Cluster) StartDaemon(options DaemonOptions) (*Daemon, error) {
	return c.StartDaemonAt(c.DaemonSocket(), options)
}

// StartDaemonAt starts a daemon on another socket, for a proxy in between.
func (c *Cluster) StartDaemonAt(socket string, options DaemonOptions) (*Daemon, error) {
	log := filepath.Join(c.Dir, filepath.Base(socket)+".log")
	f, err := openLog(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.startDaemon(socket, options, f, log)
}

// StartDaemonLogging starts a daemon that logs to the caller's file, which may
// be a pipe.
func (c *Cluster) StartDaemonLogging(socket string, options DaemonOptions, log *os.File) (*Daemon, error) {
	return c.startDaemon(socket, options, log, os.DevNull)
}

func (c *Cluster) startDaemon(socket string, options DaemonOptions, out *os.File, log string) (*Daemon, error) {
	args := []string{"serve", "--socket", socket}
	for name, value := range options {
		args = append(args, "--"+name+"="+value)
	}
	cmd := c.Env.Account.Command(c.Dir, c.Env.Daemon, args...)
	p, err := startProcessWith(cmd, "gpujoind", out, log, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	d := &Daemon{Process: p, Socket: socket}
	// Plans shall not depend on when the rates are measured.
	measures := options["calibrate"] != "false" && log != os.DevNull
	deadline := time.Now().Add(time.Minute)
	for !c.daemonServes(socket) || measures && !strings.Contains(p.Log(), "the rates of joins are known") {
		if p.Exited() || time.Now().After(deadline) {
			err := fmt.Errorf("the daemon does not start; its log ends:\n%s", p.LogTail(20))
			_ = p.Stop(0) // only the error of the start is reported
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return d, nil
}

// daemonServes asks the daemon as the daemon's own user, because it rejects others.
func (c *Cluster) daemonServes(socket string) bool {
	return c.Env.Account.Command(c.Dir, c.Env.Daemon, "check", "--socket", socket).Run() == nil
}

// Kill ends the daemon at once, as a crash would.
func (d *Daemon) Kill() error {
	if err := d.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-d.done
	return nil
}

// Stop stops the daemon gracefully.
func (d *Daemon) Stop() error {
	_ = d.Signal(syscall.SIGCONT) // in case it is stopped; fails if it has ended
	return d.Process.Stop(20*time.Second, syscall.SIGTERM)
}

// Output runs a subcommand of the daemon's program as the account and returns
// its output.
func (c *Cluster) Output(args ...string) (string, error) {
	cmd := c.Env.Account.Command(c.Dir, c.Env.Daemon, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
