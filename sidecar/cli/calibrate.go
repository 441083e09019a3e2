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
		Long: `Measure how fast joins are on this machine's cores, within some seconds.

The rates take the place of those that a daemon of the same socket measured at
its first start; it reads them when it starts. Run it while the machine is
quiet. Root measures as the user who owns the socket or its directory.`,
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
	fmt.Fprintln(w, "build rows\tbuild ns a row\tprobe ns a row\t")
	for i := range costmodel.Points {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t\n", costmodel.PointRows(i), m.Rates.BuildNS[i], m.Rates.ProbeNS[i])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "one more column of 8 bytes: %.2f ns a row\n%.0f %% of the cores' time was available\n",
		m.Rates.ColumnNS, 100*m.Share)
	if !m.Quiet() {
		fmt.Fprintln(c.out, "the machine was busy: a daemon that starts at a quiet moment measures again")
	}
	return nil
}
