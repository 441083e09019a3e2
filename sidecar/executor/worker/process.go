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

	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/executor/worker/fds"
	"gpujoin/sidecar/executor/worker/wire"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

// process is one child, from its start to its end.
type process struct {
	config *Config
	client *plugin.Client
	worker wire.WorkerClient
	stderr *stderrLog
	cmd    *exec.Cmd
	ctx    context.Context // ends when the child is to be killed
	cancel context.CancelFunc
	exited chan struct{} // the process is gone and reaped

	mu  sync.Mutex
	why error // that it was killed for
}

// startProcess starts a child and waits until it serves, or ctx is done, which
// means nothing to it later.
func startProcess(ctx context.Context, config *Config, sum []byte) (*process, []executor.Device, error) {
	path, err := checkProgram(config.Path)
	if err != nil {
		return nil, nil, err
	}
	if err := prepareSockets(config.Sockets); err != nil {
		return nil, nil, err
	}
	sender, inherited, err := fds.Pair()
	if err != nil {
		return nil, nil, err
	}
	p := &process{config: config, stderr: &stderrLog{log: config.Log}, exited: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { p.kill(ctx.Err()) })()
	p.cmd = exec.CommandContext(p.ctx, path, config.Args...) // killed with the context
	p.cmd.Env = childEnviron(config.Environ, config.Sockets)
	p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, inherited) // wire.HandoverFD
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Plugins(nil),
		Cmd:              p.cmd,
		SecureConfig:     &plugin.SecureConfig{Checksum: sum, Hash: sha256.New()},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     config.Timing.Start,
		Stderr:           p.stderr,
		SyncStdout:       p.stderr,
		SyncStderr:       p.stderr,
		Logger:           hclog.NewNullLogger(), // what matters is said here
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
	devices, err := p.status(ctx, config.Timing.First)
	if err != nil {
		p.kill(fmt.Errorf("its first sign of life: %w", err))
		<-p.exited
		return nil, nil, p.exitReason()
	}
	return p, devices, nil
}

// live is the child's life, on a thread of its own: the kernel kills the child
// when the thread that has started it ends, and threads end before processes.
func (p *process) live(connected chan<- error, sender *fds.Sender) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.connect()
	connected <- err
	if err == nil {
		stop := startFeeder(p.config.Store, sender, func(err error) { p.kill(fmt.Errorf("handover: %w", err)) })
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
	_ = os.RemoveAll(p.config.Sockets) // made anew for the next child
	close(p.exited)
}

func (p *process) connect() error {
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	service, err := protocol.Dispense(wire.Name)
	if err != nil {
		return err
	}
	p.worker = service.(wire.WorkerClient)
	return nil
}

// kill ends the child. The first reason counts; nil: it ends by itself.
func (p *process) kill(why error) {
	p.mu.Lock()
	if p.why == nil {
		p.why = why
	}
	p.mu.Unlock()
	p.cancel()
}

// exitGrace is how long a child whose connection broke may take to end.
const exitGrace = time.Second

// brokenOff ends a child whose connection broke. Mostly it has ended already,
// and how it did is the better reason.
func (p *process) brokenOff(err error) {
	select {
	case <-p.exited:
	case <-time.After(exitGrace):
		p.kill(fmt.Errorf("the connection broke: %w", err))
		<-p.exited
	}
}

// stop lets the child end by itself, for a moment.
func (p *process) stop() {
	p.mu.Lock()
	p.why = errors.New("the daemon is stopping")
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), p.config.Timing.Stop)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.client.Kill()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	p.cancel()
	<-ended
	<-p.exited
}

// exitReason says why the child has ended, once it has: what the daemon killed
// it for, and what the child said itself.
func (p *process) exitReason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	why := p.why
	if why == nil {
		why = errors.New("its process has ended")
		if state := p.cmd.ProcessState; state != nil {
			why = fmt.Errorf("its process has ended: %s", state)
		}
	}
	text, _, _ := strings.Cut(why.Error(), "\n")
	if last := p.stderr.lastLine(); last != "" {
		text += ": " + last
	}
	return errors.New(text)
}
