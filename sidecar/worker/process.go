package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"gpujoin/sidecar/worker/control"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

// process is one child, from its start to its end.
type process struct {
	config *Config
	client *plugin.Client
	worker control.WorkerClient
	stderr *stderrLog
	cmd    *exec.Cmd
	ctx    context.Context // cancelled to kill the child
	cancel context.CancelFunc
	exited chan struct{} // closed when the process has been reaped

	contents contents // of its devices

	mu  sync.Mutex
	why error // reason for killing it
}

// startProcess starts a child and waits until it serves. ctx limits only the
// start.
func startProcess(ctx context.Context, config *Config, sum []byte) (*process, *report, error) {
	path, err := checkProgram(config.Path)
	if err != nil {
		return nil, nil, err
	}
	if err := prepareSockets(config.Sockets); err != nil {
		return nil, nil, err
	}
	sender, inherited, err := control.Pair()
	if err != nil {
		return nil, nil, err
	}
	p := &process{config: config, stderr: &stderrLog{log: config.Log}, exited: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { p.kill(ctx.Err()) })()
	p.cmd = exec.CommandContext(p.ctx, path, config.Args...) // killed with the context
	p.cmd.Env = childEnviron(config.Environ, config.Sockets)
	p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, inherited) // control.HandoverFD
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  control.Handshake,
		VersionedPlugins: control.Plugins(nil),
		Cmd:              p.cmd,
		SecureConfig:     &plugin.SecureConfig{Checksum: sum, Hash: sha256.New()},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     config.Timing.Start,
		Stderr:           p.stderr,
		SyncStdout:       p.stderr,
		SyncStderr:       p.stderr,
		Logger:           hclog.NewNullLogger(), // this package logs the relevant events itself
	})
	connected := make(chan error)
	go p.live(connected, sender)
	err = <-connected
	inherited.Close()
	if err != nil {
		p.kill(err)
		<-p.exited
		return nil, nil, p.exitReason()
	}
	now, err := p.status(ctx, config.Timing.First)
	if err != nil {
		p.kill(fmt.Errorf("no answer to the first health check: %w", err))
		<-p.exited
		return nil, nil, p.exitReason()
	}
	return p, now, nil
}

// live starts the child and waits for its end. It locks its OS thread, because
// the kernel kills the child when the thread that started it ends.
func (p *process) live(connected chan<- error, sender *control.Sender) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.connect()
	connected <- err
	if err == nil {
		stop := startFeeder(p.config.Store, sender, func(err error) {
			if p.ctx.Err() == nil { // its socket is not closed yet
				p.kill(fmt.Errorf("handover: %w", err))
			}
		})
		select {
		case <-sender.Gone():
			p.kill(nil)
		case <-p.ctx.Done():
		}
		defer stop()
	}
	p.cancel()
	p.client.Kill() // waits until the process is reaped
	sender.Close()
	_ = os.RemoveAll(p.config.Sockets) // the next child gets a new directory
	close(p.exited)
}

func (p *process) connect() error {
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	service, err := protocol.Dispense(control.Name)
	if err != nil {
		return err
	}
	p.worker = service.(control.WorkerClient)
	return nil
}

// kill kills the child. The first reason is kept; nil means that the child ends
// by itself.
func (p *process) kill(why error) {
	p.mu.Lock()
	if p.why == nil {
		p.why = why
	}
	p.mu.Unlock()
	p.cancel()
}

// exitGrace is how long a child may take to exit after its connection broke, or
// after it was killed.
const exitGrace = time.Second

// exitsWithin waits for the child's exit for at most timeout.
func (p *process) exitsWithin(timeout time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(timeout):
		return false
	}
}

// brokenOff kills a child whose connection broke. It first waits briefly,
// because the child has usually exited already and its exit status is the
// better reason. A killed child may take long to exit: the driver frees its
// memory and ends its kernels before.
func (p *process) brokenOff(err error) {
	if !p.exitsWithin(exitGrace) {
		p.kill(fmt.Errorf("the connection failed: %w", err))
	}
}

// stop gives the child a grace period to exit by itself.
func (p *process) stop() {
	p.mu.Lock()
	p.why = errors.New("the daemon is stopping")
	p.mu.Unlock()
	defer time.AfterFunc(p.config.Timing.Stop, p.cancel).Stop()
	p.client.Kill()
	p.cancel()
	<-p.exited
}

// exitReason returns why a child ends or has ended: the reason for which the
// daemon killed it and the child's own last log line, unless that repeats the reason.
func (p *process) exitReason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	why := p.why
	if why == nil {
		why = errors.New("its process is ending")
		select {
		case <-p.exited: // before, the process state may be written
			why = errors.New("its process has ended")
			if state := p.cmd.ProcessState; state != nil {
				why = fmt.Errorf("its process has ended: %s", state)
			}
		default:
		}
	}
	text, _, _ := strings.Cut(why.Error(), "\n")
	if last := p.stderr.lastLine(); last != "" && !strings.Contains(last, text) {
		text += ": " + last
	}
	return errors.New(text)
}
