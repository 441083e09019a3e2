package cli

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/sidecar"
	"gpujoin/sidecar/config"

	"github.com/spf13/cobra"
)

func (c *command) calibrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure how fast joins are on this machine's cores",
		Long: `Measure how fast joins are on this machine's cores. It takes a few seconds.

The rates replace those that the daemon measured at its first start. A daemon
reads them when it starts. Calibrate while the machine is quiet. Root measures
as the user who owns the socket, or its directory if there is no socket.`,
		Args: noArgs,
	}
	settings := settingsOf(cmd)
	ifNeeded := cmd.Flags().Bool("if-needed", false, "keep saved rates that are for this machine and pass a short check, as a starting daemon does")
	cmd.RunE = func(*cobra.Command, []string) error {
		cfg, err := c.loadAsOwner(settings)
		if err != nil {
			return err
		}
		runtime.GOMAXPROCS(cfg.Cores)
		if *ifNeeded {
			signal.Ignore(syscall.SIGHUP) // is for the daemon that runs this
			return calibration(cfg, cpu.New(), slog.New(slog.NewTextHandler(c.err, nil))).Update()
		}
		m, err := calibration(cfg, cpu.New(), slog.New(slog.DiscardHandler)).Measure()
		if err != nil {
			return err
		}
		return c.printRates(&m)
	}
	return cmd
}

// calibration returns the calibration for a daemon with configuration cfg.
func calibration(cfg *config.Config, provider *cpu.Provider, log *slog.Logger) *sidecar.Calibration {
	return &sidecar.Calibration{Provider: provider, Path: cfg.StateFile("rates"), Cores: cfg.Cores,
		Memory: cfg.Memory.Total, Budget: cfg.MemoryBudget, Log: log}
}

// measure returns a function that measures the rates, if needed, in a process of its
// own, where joins of this one do not count as work of the measurement.
func measure(cfg *config.Config, environ []string, known *sidecar.Calibration) func(context.Context) (costmodel.Rates, sidecar.RatesSource, error) {
	args := []string{"calibrate", "--if-needed", "--socket", cfg.Socket, "--state-dir", cfg.StateDir,
		"--cores", strconv.Itoa(cfg.Cores), "--memory-budget", strconv.FormatInt(cfg.MemoryBudget, 10) + "B"}
	if cfg.File != "" {
		args = append(args, "--config", cfg.File)
	}
	return func(ctx context.Context) (costmodel.Rates, sidecar.RatesSource, error) {
		since := time.Now()
		var said bytes.Buffer
		child := exec.CommandContext(ctx, "/proc/self/exe", args...) // also if the file was replaced
		child.Env, child.Stderr = environ, &said
		err := child.Run()
		text := strings.TrimSpace(said.String())
		switch {
		case err != nil:
			err = fmt.Errorf("gpujoind calibrate: %w: %s", err, text)
		case text != "":
			known.Log.Info("the measurement reports", "text", text)
		}
		rates, source := known.Known(since)
		return rates, source, err
	}
}

func (c *command) printRates(m *costmodel.MeasuredRates) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "build rows\tns per build row\tns per probe row\t")
	for i := range costmodel.Points {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t\n", costmodel.PointRows(i), m.Rates.BuildNS[i], m.Rates.ProbeNS[i])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "one more 8-byte column: %.2f ns per row\n\n", m.Rates.ColumnNS)
	fmt.Fprintln(w, "groups\tns per row that is grouped and summed\t")
	for i := range costmodel.GroupPoints {
		fmt.Fprintf(w, "%d\t%.1f\t\n", costmodel.GroupRows(i), m.Rates.GroupNS[i])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "one more function: %.2f ns per row, arithmetic operation: %.2f, comparison: %.2f\n"+
		"a probe of a cached table: %.1f ns, a load from memory: %.0f ns; accesses hit a cache up to %.1f MB, all miss from %.0f MB\n%.0f %% of the cores' time was available\n",
		m.Rates.FunctionNS, m.Rates.OperationNS, m.Rates.ConditionNS,
		m.Rates.Machine.ProbeNS, m.Rates.Machine.LoadNS, m.Rates.Machine.CachedBytes/1e6, m.Rates.Machine.UncachedBytes/1e6, 100*m.Share)
	if !m.Quiet() {
		fmt.Fprintln(c.out, "the machine was busy; the daemon will measure again when it starts on a quiet machine")
	}
	return nil
}
