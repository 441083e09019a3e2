package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/signal"
	"syscall"

	"gpujoin/sidecar/config"
	"gpujoin/sidecar/worker"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (c *command) bench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.benchTransfer(), c.benchMesh())
	return cmd
}

func (c *command) benchTransfer() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Measure each method of copying between host memory and a GPU",
		Long: `Measure each method of copying between host memory and a GPU.

Each method moves the same bytes in each direction, and a checksum is compared
after each transfer. If the machine does not support a method, the table shows
the reason. While a daemon serves, the GPU needs free memory for the largest
size.

With --join, a join of inputs in host memory is executed by each method, and its
rate is printed next to what "Pump Up the Volume" (SIGMOD 2020) says of the method.

The worker program measures. It is found and checked as for serving.`,
		Example: "  gpujoind bench transfer --sizes 16MB,1GB --json transfer.json\n  gpujoind bench transfer --join --unified",
		Args:    noArgs,
	}
	settings := settingsOf(cmd)
	cmd.Flags().Int("device", 0, "number of the GPU")
	cmd.Flags().String("sizes", "16MB,256MB,2GB", "sizes of transfers, separated by commas")
	cmd.Flags().Int("repeats", 5, "timed transfers of each kind; the median is reported")
	cmd.Flags().Bool("join", false, "measure joins of inputs that reach the GPU by each method")
	cmd.Flags().Int64("rows", 1<<27, "with --join, rows of the probe side; the build side has a sixteenth")
	cmd.Flags().Bool("unified", false, "also measure methods that migrate pages, up to 1 GB")
	cmd.Flags().String("json", "", "also write the results to this file")
	cmd.RunE = func(*cobra.Command, []string) error { return c.runWorker(cmd, settings) }
	return cmd
}

func (c *command) benchMesh() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mesh",
		Short: "Measure the links between the GPUs, and between each GPU and the host",
		Long: `Measure the links between the GPUs, and between each GPU and the host.

The table shows NVLinks, peer access and PCIe paths, and the rates of copies
of several sizes, in one direction and in both at once. It names what cannot
be found out, and why. The GPUs should be idle.

The worker program measures. It is found and checked as for serving.`,
		Example: "  gpujoind bench mesh --json mesh.json",
		Args:    noArgs,
	}
	settings := settingsOf(cmd)
	cmd.Flags().String("json", "", "also write the results to this file")
	cmd.Flags().String("mesh", "", "file with results for the same GPUs and driver: used instead of measuring; written if there are none")
	cmd.RunE = func(*cobra.Command, []string) error { return c.runWorker(cmd, settings) }
	return cmd
}

// runWorker runs the worker program's command of the same name, with the command's flags
// that are no settings. This program does not link CUDA, and the worker's measurements need
// no daemon: the worker uses no extents, jobs or connection and prints its table itself.
func (c *command) runWorker(cmd *cobra.Command, settings *pflag.FlagSet) error {
	args := []string{"bench", cmd.Name()}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if settings.Lookup(f.Name) == nil && f.Name != "help" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	cfg, err := config.Load(settings, c.environ)
	if err != nil {
		return err
	}
	program, err := cudaWorker(cfg, c.environ)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err = worker.Execute(ctx, program, args, c.out, c.err)
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && failed.Exited():
		return exitError(ExitFailure) // the worker has printed the error
	case err != nil:
		return fmt.Errorf("%s: %w", cudaProgram, err)
	}
	return nil
}
