package harness

import (
	"context"
	"errors"
	"time"
)

// Pair is a cluster and its daemon.
type Pair struct {
	Cluster *Cluster
	Daemon  *Daemon

	options DaemonOptions
}

// StartPair starts an unnamed cluster and its daemon; Stop removes the cluster's files.
func (e *Env) StartPair(settings Settings, options DaemonOptions) (*Pair, error) {
	c, err := e.NewCluster("", settings)
	if err != nil {
		return nil, err
	}
	d, err := c.StartDaemon(options)
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return &Pair{Cluster: c, Daemon: d, options: options}, nil
}

// Revive starts the daemon again if it has ended, and if the server has closed the
// session waits until it accepts others. It says what has ended, "" if nothing has.
func (p *Pair) Revive(ctx context.Context, s *Session) (ended string, err error) {
	if p.Daemon.Exited() {
		ended = "the daemon ended: " + p.Daemon.LogTail(30)
		d, err := p.Cluster.StartDaemon(p.options)
		if err != nil {
			return ended, err
		}
		p.Daemon = d
	}
	if !s.conn.IsClosed() {
		return ended, nil
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		s, err := p.Cluster.Connect(ctx)
		if err == nil {
			return ended + "the backend ended: " + p.Cluster.Server().LogTail(20), s.Close()
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return ended, err
		}
	}
}

// Stop stops both, gracefully.
func (p *Pair) Stop() error {
	return errors.Join(p.Daemon.Stop(), p.Cluster.Stop())
}
