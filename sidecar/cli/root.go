// Package cli implements the command line of gpujoind.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"gpujoin/shm"
	"gpujoin/sidecar/config"
	"gpujoin/version"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// Exit codes of gpujoind.
const (
	ExitOK       = 0
	ExitFailure  = 1 // the command failed
	ExitUsage    = 2 // wrong arguments or configuration
	ExitNoDaemon = 3 // no daemon serves the socket; check: all other checks passed
)

// exitError carries an exit code. Its message has already been printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// errUsage marks wrong arguments.
var errUsage = errors.New("usage")

// command is one invocation of gpujoind.
type command struct {
	environ []string
	out     io.Writer
	err     io.Writer
}

// Main runs the command line and returns the exit code. args excludes the
// program's name; environ has the form of os.Environ.
func Main(args, environ []string, out, errOut io.Writer) int {
	c := &command{environ: environ, out: out, err: errOut}
	root := c.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.Execute()
	var code exitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(errOut, "gpujoind: %v\n", err)
	if errors.Is(err, config.ErrConfig) || errors.Is(err, errUsage) || strings.HasPrefix(err.Error(), "unknown command") {
		return ExitUsage
	}
	return ExitFailure
}

// Commands returns the command line, from which the manual pages are made.
func Commands() *cobra.Command { return (&command{}).root() }

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "gpujoind",
		Short: "The daemon that executes joins for the gpujoin extension of PostgreSQL",
		Long: `The daemon that executes joins for the gpujoin extension of PostgreSQL.

A setting is taken from its flag, else from the environment (GPUJOIND_*), else
from the configuration file. That is a TOML file in which the settings have the
names of the flags with underscores instead of dashes.

Exit codes: 0 success, 1 failure, 2 wrong arguments or configuration,
3 no daemon serves the socket (check, status, metrics).`,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	root.AddCommand(c.serve(), c.check(), c.status(), c.metrics(), c.calibrate(), c.bench(), c.dump(), c.config(), c.version())
	return root
}

// settingsOf adds the flags of the daemon's settings to a command and returns them.
func settingsOf(cmd *cobra.Command) *pflag.FlagSet {
	settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.Flags(settings)
	cmd.Flags().AddFlagSet(settings)
	return settings
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: %s does not accept the argument %q", errUsage, cmd.Name(), args[0])
	}
	return nil
}

func (c *command) config() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print a configuration file with all settings",
		Long: `Print a configuration file with all settings. Those that are given as flags are
set; the others are comments with their defaults.`,
		Example: `  gpujoind config --memory-budget 8GB >/etc/gpujoin/gpujoind.toml
  gpujoind config --socket /run/gpujoin-15-main/gpujoind.sock --state-dir /var/lib/gpujoin-15-main >/etc/gpujoin/15-main.toml`,
		Args: noArgs,
	}
	settings := settingsOf(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		_, err := fmt.Fprint(c.out, config.Sample(settings))
		return err
	}
	return cmd
}

func (c *command) version() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print versions",
		Args:  noArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return json.NewEncoder(c.out).Encode(map[string]any{
				"version": version.Text, "protocol": shm.ProtocolVersion, "layout": shm.LayoutVersion,
				"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			})
		}
		_, err := fmt.Fprintln(c.out, versionText())
		return err
	}
	return cmd
}

// versionText returns all versions in one line.
func versionText() string {
	return fmt.Sprintf("gpujoind %s, protocol %d, layout %d, %s %s/%s", version.Text,
		shm.ProtocolVersion, shm.LayoutVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// loadAsOwner loads the configuration with the privileges of the daemon's user.
func (c *command) loadAsOwner(flags *pflag.FlagSet) (*config.Config, error) {
	cfg, err := config.Load(flags, c.environ)
	if err != nil {
		return nil, err
	}
	became, err := becomeOwner(cfg.Socket)
	if err != nil || !became {
		return cfg, err
	}
	return config.Load(flags, c.environ) // the daemon's user may not be able to read the file
}

// becomeOwner drops root's privileges for those of the user that the daemon
// runs as: the owner of the socket or, if there is no socket, of its directory.
// Checks that run as root would miss the permissions which that user lacks. It
// reports whether it switched users; for a caller other than root it does
// nothing.
func becomeOwner(socket string) (bool, error) {
	if os.Geteuid() != 0 {
		return false, nil
	}
	var st unix.Stat_t
	err := unix.Lstat(socket, &st)
	if errors.Is(err, fs.ErrNotExist) {
		err = unix.Stat(filepath.Dir(socket), &st)
	}
	if err != nil || st.Uid == 0 {
		return false, nil // the check of the socket reports the reason
	}
	gid, groups := groupsOf(st.Uid, st.Gid)
	if err := errors.Join(syscall.Setgroups(groups), syscall.Setgid(gid), syscall.Setuid(int(st.Uid))); err != nil {
		return false, fmt.Errorf("could not become user %d, who owns the socket: %w", st.Uid, err)
	}
	return true, nil
}

// groupsOf returns the user's primary and supplementary groups from the
// system's user database; gid is other if the database does not list the user.
func groupsOf(uid, other uint32) (gid int, groups []int) {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return int(other), []int{int(other)}
	}
	if gid, err = strconv.Atoi(u.Gid); err != nil {
		gid = int(other)
	}
	groups = []int{gid}
	names, err := u.GroupIds()
	if err != nil {
		return gid, groups
	}
	for _, name := range names {
		if g, err := strconv.Atoi(name); err == nil && g != gid {
			groups = append(groups, g)
		}
	}
	return gid, groups
}
