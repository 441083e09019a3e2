package harness

import "errors"

// Pair is a cluster and its daemon.
type Pair struct {
	Cluster *Cluster
	Daemon  *Daemon
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
	return &Pair{Cluster: c, Daemon: d}, nil
}

// Stop stops both, gracefully.
func (p *Pair) Stop() error {
	return errors.Join(p.Daemon.Stop(), p.Cluster.Stop())
}
