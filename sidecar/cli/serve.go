package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/sidecar"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/metrics"
	"gpujoin/version"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
)

func (c *command) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve backends until SIGTERM or SIGINT",
		Long: `Serve backends until SIGTERM or SIGINT.

The first signal stops gracefully: the daemon admits no more jobs and waits for
running jobs until the stop timeout. A second signal stops at once.

SIGHUP makes the daemon read its configuration file again. Some settings change
at once; of the others, the log says that they need a restart.`,
		Example: "  gpujoind serve --socket /run/gpujoin/gpujoind.sock --memory-budget 8GB",
		Args:    noArgs,
	}
	settings := settingsOf(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		cfg, err := config.Load(settings, c.environ)
		if err != nil {
			return err
		}
		return serve(cfg, func() (*config.Config, error) { return config.Load(settings, c.environ) }, c.environ, c.err)
	}
	return cmd
}

// logPatience is how long a stopping daemon waits for its log to be written.
const logPatience = 500 * time.Millisecond

// serve runs a daemon until it is stopped. reload reads its configuration again.
func serve(cfg *config.Config, reload func() (*config.Config, error), environ []string, errOut io.Writer) (err error) {
	surviveBrokenPipes()
	level := &slog.LevelVar{}
	level.Set(levels[cfg.LogLevel])
	log := newLog(errOut, logOptions{Level: level, JSON: cfg.LogFormat == "json"})
	defer func() {
		if !log.Close(logPatience) && err != nil {
			err = exitError(ExitFailure) // printing the error could block on the same reader
		}
	}()
	options := sidecar.Options{Config: *cfg, Log: log.Logger}
	if err := options.Check(); err != nil {
		return fmt.Errorf("%w: %w", config.ErrConfig, err)
	}
	var closeTrace func()
	if options.Tracer, closeTrace, err = openTrace(cfg.Trace, options.Log); err != nil {
		return err
	}
	defer closeTrace()
	// Claim the socket first: a second daemon must not measure while the first one
	// does, nor overwrite its rates.
	if options.Claim, err = sidecar.ClaimSocket(cfg.Socket); err != nil {
		return err
	}
	defer options.Claim.Release()
	signals, hangups := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)

	limitHeap(cfg, environ, options.Log)
	provider := cpu.New()
	options.Rates = sidecar.NewRates(costmodel.TypicalRates, sidecar.RatesDefault)
	if cfg.Calibrate {
		known := calibration(cfg, provider, options.Log)
		options.Rates = sidecar.NewRates(known.Known(time.Now()))
		options.Measure = measure(cfg, environ, known)
	}
	sidecar.SetProcs(cfg.Cores)
	var before []func(*memory.Store) executor.Executor
	if options.Policy, before, err = preferred(cfg, environ, options.Rates, options.Log); err != nil {
		return err
	}
	srv, err := sidecar.Start(options, sidecar.NewLocal(provider, cfg.Cores, options.Rates), before...)
	if err != nil {
		return err
	}
	if cfg.Metrics != "" {
		listener, err := metrics.Listen(cfg.Metrics, srv.Status, options.Log)
		if err != nil {
			return errors.Join(err, srv.Stop(context.Background()))
		}
		defer listener.Close()
	}
	options.Log.Info("serving", "socket", cfg.Socket, "version", version.Text, "budget", cfg.MemoryBudget, "memory", cfg.Memory.String(),
		"extent_size", cfg.ExtentSize, "cores", cfg.Cores, "config", cfg.File)
	notify(options.Log, daemon.SdNotifyReady+"\nSTATUS=serving "+cfg.Socket)
	ctx, cancel := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { watchdog(ctx, srv.Beats, options.Log) })
	beside.Go(func() {
		reloader := &reloader{current: cfg, load: reload, level: level, adjust: srv.Adjust, log: options.Log}
		reloader.run(ctx, hangups)
	})
	s := <-signals
	options.Log.Info("stopping", "signal", s.String())
	notify(options.Log, daemon.SdNotifyStopping+"\nSTATUS=waiting for jobs")
	patience, hurry := context.WithCancel(ctx)
	beside.Go(func() {
		select {
		case <-signals:
			hurry()
		case <-ctx.Done():
		}
	})
	if err := srv.Stop(patience); err != nil {
		return err
	}
	options.Log.Info("stopped")
	return nil
}

// limitHeap limits Go's heap to the memory that the budget leaves. Extents and
// blocks are not on the Go heap but count towards the same control group.
// Below the limit the heap may grow to five times what is in use: it is small, and a
// collection takes all cores for longer than a short join. GOMEMLIMIT and GOGC in the
// environment take precedence.
func limitHeap(cfg *config.Config, environ []string, log *slog.Logger) {
	const least = 64 << 20
	if cfg.MemoryBudget > largestBudget(cfg) {
		log.Warn("the memory budget leaves the daemon less than a tenth of the memory that it may use; set it to at most 90%",
			"budget", cfg.MemoryBudget, "memory", cfg.Memory.String())
	}
	isSet := func(name string) bool {
		return slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	}
	if !isSet("GOMEMLIMIT") {
		debug.SetMemoryLimit(max(least, (cfg.Memory.Total-cfg.MemoryBudget)/10*9))
	}
	if !isSet("GOGC") {
		debug.SetGCPercent(400)
	}
}

// largestBudget returns the budget, in bytes, above which too little memory is left for Go's
// heap, which collects garbage without end if it is short of it.
func largestBudget(cfg *config.Config) int64 { return cfg.Memory.Total / 10 * 9 }

// openTrace returns the tracer that the configuration asks for, nil if none. The caller
// must call done, which ends the trace.
func openTrace(path string, log *slog.Logger) (t *sidecar.Tracer, done func(), err error) {
	if path == "" {
		return nil, func() {}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("trace: %w", err)
	}
	if t, err = sidecar.NewTracer(f); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("trace: %w", err)
	}
	return t, func() {
		if err := errors.Join(t.Close(), f.Close()); err != nil {
			log.Warn("trace is incomplete", "error", err)
		}
	}, nil
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}
