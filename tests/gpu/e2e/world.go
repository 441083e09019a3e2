package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
)

// world is a server with two daemons: one joins on the CPU, the other on a GPU.
// Each mode has its own session, connected to its daemon only. Foreign tables are those of
// another server, to which the native mode's session is connected.
type world struct {
	options
	env     *harness.Env
	run     *measure.Run
	cluster *harness.Cluster
	source  *harness.Cluster // nil: there are no foreign tables
	modes   []*mode
	cleanup []func() error // in reverse
}

// mode is a way of running a query.
type mode struct {
	name     string
	session  *harness.Session
	witness  *harness.Session // queries the daemon while the session is busy
	daemon   *harness.Daemon  // nil for native plans
	provider string           // that must execute the joins; empty for native plans
	absent   string           // why the mode cannot run here
}

func defaultWorkers() int { return min(8, runtime.NumCPU()/2) }

// settings returns the server's settings: what tpch and the large joins need,
// within the machine's memory.
func (o options) settings() harness.Settings {
	s := suite.Settings()
	buffers := min(measure.MemoryBytes()/4, 16<<30)
	s["shared_buffers"] = fmt.Sprintf("%dMB", buffers>>20)
	s["effective_cache_size"] = fmt.Sprintf("%dMB", 2*buffers>>20)
	s["work_mem"] = "1GB"
	s["max_parallel_workers_per_gather"] = fmt.Sprint(o.workers)
	s["max_parallel_workers"] = fmt.Sprint(max(8, o.workers))
	s["max_worker_processes"] = fmt.Sprint(8 + max(8, o.workers))
	s["wal_level"] = "minimal"
	s["max_wal_senders"] = "0"
	// GMT needs no time zone files, which a small machine lacks.
	if o.kept || o.foreign { // only tables with WAL are kept
		s["wal_level"], s["gpujoin.keep"] = "replica", "auto"
		s["max_wal_size"], s["checkpoint_timeout"] = "64GB", "1h"
		s["maintenance_work_mem"] = "1GB"
	}
	if o.foreign { // most rows are the source's
		s["shared_buffers"] = fmt.Sprintf("%dMB", buffers>>22)
		s["max_wal_size"] = "8GB"
	}
	s["timezone"] = "'GMT'"
	s["log_timezone"] = "'GMT'"
	return s
}

// sourceSettings returns those of the server with the foreign tables.
func (o options) sourceSettings() harness.Settings {
	s := o.settings()
	maps.Copy(s, foreign.SourceSettings())
	s["shared_buffers"] = fmt.Sprintf("%dMB", min(measure.MemoryBytes()/4, 16<<30)>>20)
	s["max_wal_size"] = "16GB"
	return s
}

// memory returns the daemons' options on memory: both have the same columns.
func (o options) memory() harness.DaemonOptions {
	share := func(percent int64) string { return fmt.Sprintf("%dMB", measure.MemoryBytes()/100*percent>>20) }
	switch { // calibrating takes longer than all queries
	case o.kept:
		return harness.DaemonOptions{"memory-budget": share(20), "keep-memory": "80%", "calibrate": "false"}
	case o.foreign:
		return harness.DaemonOptions{"memory-budget": share(28), "keep-memory": "10%", "mirror-memory": "70%", "calibrate": "false"}
	}
	return harness.DaemonOptions{}
}

// sharedMemory is the memory of each GPU that joins may use where two daemons share the GPUs.
const sharedMemory = "40%"

func newWorld(ctx context.Context, o options) (w *world, err error) {
	w = &world{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
			w = nil
		}
	}()
	if err := w.prepare(ctx); err != nil {
		return w, err
	}
	for name, value := range map[string]any{"sf": o.sf, "rows": o.rows, "runs": o.runs, "workers": o.workers, "devices": o.devices, "strategy": o.strategy, "strategy_memory": o.limit, "parts": o.parts} {
		w.run.Parameter(name, value)
	}
	w.run.Chosen("queries", o.queries)
	w.run.Server(w.env.Prefix.Version, o.settings())
	if w.cluster, err = w.env.NewCluster("", o.settings()); err != nil {
		return w, err
	}
	w.cleanup = append(w.cleanup, w.cluster.Stop)
	native := &mode{name: "native"}
	if native.session, err = w.connect(ctx, w.cluster.DaemonSocket()); err != nil {
		return w, err
	}
	if err := native.session.Exec(ctx, "create extension gpujoin"); err != nil {
		return w, err
	}
	if o.foreign {
		if native.session, err = w.startSource(ctx); err != nil {
			return w, err
		}
	}
	memory := o.memory()
	onCores := harness.DaemonOptions{"provider": "cpu"}
	maps.Copy(onCores, memory)
	cpu, err := w.daemon(ctx, "cpu", onCores)
	if err != nil {
		return w, err
	}
	one := harness.DaemonOptions{"cuda-devices": "1"}
	maps.Copy(one, memory)
	if o.several() {
		one["cuda-memory"] = sharedMemory
	}
	one["cuda-transfer-method"] = cmp.Or(o.transfer, "auto")
	cuda, err := w.cuda(ctx, "cuda", one)
	if err != nil {
		return w, err
	}
	w.modes = []*mode{native, cpu, cuda}
	if o.several() {
		more := harness.DaemonOptions{
			"cuda-devices": strconv.Itoa(o.devices), "cuda-strategy": o.strategy, "cuda-transfer-method": cmp.Or(o.transfer, "auto"),
			"cuda-peer-access": cmp.Or(o.peers, "auto"), "cuda-memory": cmp.Or(o.limit, sharedMemory),
		}
		maps.Copy(more, memory)
		several, err := w.cuda(ctx, "several", more)
		if err != nil {
			return w, err
		}
		w.modes = append(w.modes, several)
	}
	return w, errors.Join(native.set(ctx), cpu.set(ctx))
}

// startSource starts the server with the foreign tables and opens a session there.
func (w *world) startSource(ctx context.Context) (s *harness.Session, err error) {
	if w.source, err = w.env.NewCluster("", w.sourceSettings()); err != nil {
		return nil, err
	}
	w.cleanup = append(w.cleanup, w.source.Stop)
	if s, err = w.source.Connect(ctx); err == nil {
		w.cleanup = append(w.cleanup, s.Close)
	}
	return s, err
}

// prepare finds the programs to run: the bundle's, or this repository's.
func (w *world) prepare(ctx context.Context) (err error) {
	suite := "gpu-e2e"
	switch {
	case w.kept:
		suite = "gpu-e2e-kept"
	case w.foreign:
		suite = "gpu-e2e-foreign"
	}
	if w.archive == "" {
		if w.env, err = harness.Prepare(); err != nil {
			return err
		}
		w.run, err = w.common.Begin(ctx, w.env.Root, suite, w.out)
		return err
	}
	dir := w.archive
	if info, err := os.Stat(dir); err != nil || !info.IsDir() { // not unpacked yet
		if dir, err = os.MkdirTemp("/var/tmp", "gpu-e2e-"); err != nil {
			return err
		}
		w.cleanup = append(w.cleanup, func() error { return os.RemoveAll(dir) })
		if err := errors.Join(os.Chmod(dir, 0o755), unpack(w.archive, dir)); err != nil {
			return err
		}
	}
	env, bundle, err := harness.PrepareBundle(dir)
	if err != nil {
		return err
	}
	w.env = env
	w.run, err = w.common.BeginOf(ctx, suite, w.out, bundle.Commit)
	return err
}

// cuda starts a daemon that gives every job to the GPU, with additional
// options. In the bundle the worker is next to the daemon, where the daemon
// looks for it.
func (w *world) cuda(ctx context.Context, name string, more harness.DaemonOptions) (*mode, error) {
	o := harness.DaemonOptions{"provider": "cuda"}
	maps.Copy(o, more)
	switch {
	case w.plugin != "":
		o["cuda-plugin"] = w.plugin
	case w.archive == "":
		o["cuda-plugin"] = filepath.Join(w.env.Root, "build", "cuda", "out", "bin", "gpujoin-cuda")
	}
	m, err := w.daemon(ctx, name, o)
	if err != nil {
		return nil, err
	}
	if m.absent, err = whyNoDevice(ctx, m.session); err != nil {
		return nil, err
	}
	return m, m.set(ctx)
}

// daemon starts a daemon and opens a session connected to it.
func (w *world) daemon(ctx context.Context, name string, options harness.DaemonOptions) (*mode, error) {
	socket := filepath.Join(w.cluster.Sock, "gpujoind-"+name)
	d, err := w.cluster.StartDaemonAt(socket, options)
	if err != nil {
		return nil, err
	}
	w.cleanup = append(w.cleanup, d.Stop)
	m := &mode{name: name, daemon: d, provider: options["provider"]}
	if m.session, err = w.connect(ctx, socket); err != nil {
		return nil, err
	}
	m.witness, err = w.connect(ctx, socket)
	return m, err
}

func (w *world) connect(ctx context.Context, socket string) (*harness.Session, error) {
	s, err := w.cluster.ConnectWith(ctx, "gpujoin.socket", socket)
	if err != nil {
		return nil, err
	}
	w.cleanup = append(w.cleanup, s.Close)
	return s, nil
}

// set sets the session's mode. A forced node costs next to nothing, so the planner uses
// parallel workers for it only if starting them is free, too.
func (m *mode) set(ctx context.Context) error {
	settings := suite.Native
	if m.provider != "" {
		settings = suite.Forced + "; set parallel_setup_cost = 0; set gpujoin.queue_timeout = '10min'"
	}
	if err := m.session.Exec(ctx, settings); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	return nil
}

func (w *world) close() error {
	var all error
	for i := len(w.cleanup) - 1; i >= 0; i-- {
		all = errors.Join(all, w.cleanup[i]())
	}
	return all
}

// describe returns the circumstances of the measurement.
func (w *world) describe() string {
	return strings.Join([]string{
		w.run.String(), w.env.Prefix.Version,
		fmt.Sprintf("TPC-H SF %g, %d workers, medians of %d runs", w.sf, w.workers, w.runs),
	}, "; ")
}

// split cuts a row of a result into its first field and the rest.
func split(row string) (first, rest string) {
	first, rest, _ = strings.Cut(row, "\t")
	return first, rest
}

// patience is the time limit for a worker to become ready.
const patience = time.Minute

// whyNoDevice waits until the session's daemon has a GPU for joins, or returns
// the reason why it has none.
func whyNoDevice(ctx context.Context, s *harness.Session) (string, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		r, err := s.Query(ctx, `select state, coalesce(reason, state) from gpujoin.devices where provider = 'cuda' order by state <> 'ready', device limit 1`)
		if err != nil {
			return "", err
		}
		if len(r.Rows) == 0 {
			return "the daemon knows no CUDA device", nil
		}
		state, reason := split(r.Rows[0])
		switch {
		case state == "ready":
			return "", nil
		case state == "absent" || state == "broken" || time.Now().After(deadline):
			return reason, nil
		}
	}
}
