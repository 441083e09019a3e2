package cli

import (
	"fmt"
	"log/slog"
	"runtime"
	"text/tabwriter"

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
	config.Flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.loadAsOwner(cmd.Flags())
		if err != nil {
			return err
		}
		runtime.GOMAXPROCS(cfg.Cores)
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
	return &sidecar.Calibration{Provider: provider, Path: cfg.Socket + ".rates", Memory: cfg.Memory.Total, Log: log}
}

func (c *command) printRates(m *sidecar.MeasuredRates) error {
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
	fmt.Fprintf(c.out, "one more function: %.2f ns per row, arithmetic operation: %.2f, comparison: %.2f\n%.0f %% of the cores' time was available\n",
		m.Rates.FunctionNS, m.Rates.OperationNS, m.Rates.ConditionNS, 100*m.Share)
	if !m.Quiet() {
		fmt.Fprintln(c.out, "the machine was busy; the daemon will measure again when it starts on a quiet machine")
	}
	return nil
}
