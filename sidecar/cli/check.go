package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"text/tabwriter"
	"time"

	"gpujoin/joincore/cpu"
	"gpujoin/shm"
	"gpujoin/sidecar"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/spool"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func (c *command) check() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check configuration, machine and daemon",
		Long: `Check configuration, machine and daemon.

Prints one line for each requirement of the daemon, and with GPUs one for the strategies
by which jobs can be executed on them. The exit code is 1 if a requirement is not met,
and 3 if all are met but no daemon serves the socket.

Root checks as the user who owns the socket, or its directory if there is no
socket.`,
		Args: noArgs,
	}
	settings := settingsOf(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		cfg, err := c.loadAsOwner(settings)
		if err != nil {
			return err
		}
		able := askAbility(cfg)
		results, code := c.runChecks(cfg, able)
		if *asJSON {
			err = printResults(c.out, results, able)
		} else {
			err = printChecks(c.out, results)
		}
		if err == nil && code != ExitOK {
			err = exitError(code)
		}
		return err
	}
	return cmd
}

// result is that of one check.
type result struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Text  string `json:"text"` // what was found, or is wrong
}

// runChecks runs all checks, and returns the exit code for them. able is what devices
// can do.
func (c *command) runChecks(cfg *config.Config, able ability) (results []result, code int) {
	used, whose := inUse(cfg)
	for _, check := range []struct {
		name string
		run  func(*config.Config) (string, error)
		code int
	}{
		{"configuration", checkConfig, ExitUsage},
		{"socket", func(*config.Config) (string, error) { return cfg.Socket, sidecar.CheckSocket(cfg.Socket) }, ExitFailure},
		{"memory", func(*config.Config) (string, error) { return checkMemory(used, whose) }, ExitFailure},
		{"extents", func(*config.Config) (string, error) { return sidecar.CheckExtents(used) }, ExitFailure},
		{"spool", checkSpool, ExitFailure},
		{"state", checkState, ExitFailure},
		{"sealed memory", checkSeals, ExitFailure},
		{"huge pages", checkHugePages, ExitFailure},
		{"provider cpu", checkProvider, ExitFailure},
		{"provider cuda", func(cfg *config.Config) (string, error) { return checkCUDA(cfg, c.environ) }, ExitFailure},
		{"strategies", func(*config.Config) (string, error) { return able.strategiesText(), nil }, ExitFailure},
		{"transfer methods", func(*config.Config) (string, error) { return able.methodsText(), nil }, ExitFailure},
		{"daemon", checkDaemon, ExitNoDaemon},
	} {
		text, err := check.run(cfg)
		if err != nil {
			text, code = err.Error(), cmp.Or(code, check.code)
		}
		if text == "" {
			continue // it has nothing to say on this machine
		}
		results = append(results, result{Check: check.name, OK: err == nil, Text: text})
	}
	return results, code
}

// printChecks prints a table of results.
func printChecks(out io.Writer, results []result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range results {
		state := "ok"
		if !r.OK {
			state = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Check, state, r.Text)
	}
	return w.Flush()
}

// printResults prints results as JSON, with strategies and methods as lists.
func printResults(out io.Writer, results []result, able ability) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Checks     []result           `json:"checks"`
		Strategies []deviceStrategies `json:"strategies"`
		Methods    []deviceMethods    `json:"transfer_methods"`
	}{results, able.strategies, able.methods})
}

func checkConfig(cfg *config.Config) (string, error) {
	file := cfg.File
	if file == "" {
		file = "no file"
	}
	return file, (&sidecar.Options{Config: *cfg}).Check()
}

// inUse returns the configuration with the budget and the extent size of the running daemon, which
// other flags may have set, and whose values they are.
func inUse(cfg *config.Config) (used *config.Config, whose string) {
	status, err := daemonStatus(cfg)
	if err != nil || status.Budget <= 0 || status.Pool.ExtentSize <= 0 {
		return cfg, "of these settings"
	}
	copied := *cfg
	copied.MemoryBudget, copied.ExtentSize = status.Budget, status.Pool.ExtentSize
	return &copied, "of the running daemon"
}

func checkMemory(cfg *config.Config, whose string) (string, error) {
	if cfg.MemoryBudget > largestBudget(cfg) {
		return "", fmt.Errorf("the budget %s, %d MB, is more than 90%% of %v", whose, cfg.MemoryBudget>>20, cfg.Memory)
	}
	return fmt.Sprintf("the budget %s is %d MB of %v", whose, cfg.MemoryBudget>>20, cfg.Memory), nil
}

func checkState(cfg *config.Config) (string, error) {
	if cfg.StateDir == "" {
		return "results of measurements are next to the socket", nil
	}
	if err := unix.Access(cfg.StateDir, unix.W_OK|unix.X_OK); err != nil {
		return "", fmt.Errorf("measured rates cannot be saved in %s: %w", cfg.StateDir, err)
	}
	return cfg.StateDir, nil
}

func checkSpool(cfg *config.Config) (string, error) {
	files := spool.New(cfg.SpoolDir, cfg.SpoolLimit)
	if !files.Enabled() {
		return "unread results stay in memory", nil
	}
	if err := files.Check(); err != nil {
		return "", err
	}
	if files.InMemory() {
		return "", fmt.Errorf("%s is in memory: unread results in it would use memory outside of the budget; set spool_dir to a directory on a disk", cfg.SpoolDir)
	}
	return fmt.Sprintf("%d MB of unread results fit in %s", cfg.SpoolLimit>>20, cfg.SpoolDir), nil
}

func checkSeals(*config.Config) (string, error) {
	fd, err := shm.CreateMemfd(shm.ExtentMinSize)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if err := shm.VerifyMemfd(fd, shm.ExtentMinSize); err != nil {
		return "", err
	}
	if err := unix.Ftruncate(fd, 0); err == nil {
		return "", fmt.Errorf("a sealed memfd could be truncated")
	}
	return "memfds keep their size", nil
}

func checkProvider(cfg *config.Config) (string, error) {
	store, err := memory.NewStore(shm.ExtentMinSize, 1<<28, 16)
	if err != nil {
		return "", err
	}
	defer store.Close()
	rows, err := sidecar.SelfTest(context.Background(), sidecar.NewLocal(cpu.New(), 0, nil), store)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d cores, a test join returned the right %d rows", cfg.Cores, rows), nil
}

// statusTimeout bounds the wait for each of the daemon's answers.
const statusTimeout = 5 * time.Second

// daemonStatus requests the status of the running daemon.
func daemonStatus(cfg *config.Config) (*sidecar.Status, error) {
	text, err := statusText(cfg)
	if err != nil {
		return nil, err
	}
	status := &sidecar.Status{}
	return status, json.Unmarshal(text, status)
}

// statusText requests it as JSON.
func statusText(cfg *config.Config) ([]byte, error) {
	sock, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: cfg.Socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("no daemon serves the socket: %w", err)
	}
	defer sock.Close()
	conn, err := shm.NewConn(sock, false)
	if err != nil {
		return nil, err
	}
	hello := shm.Hello{ProtocolVersion: shm.ProtocolVersion, LayoutVersion: shm.LayoutVersion, LeaderPID: int32(os.Getpid())}
	if _, err := ask(conn, shm.AppendFrame(nil, shm.MsgHello, 0, &hello), shm.MsgWelcome); err != nil {
		return nil, err
	}
	return ask(conn, shm.AppendEmpty(nil, shm.MsgStatusGet), shm.MsgStatus)
}

// ask sends a frame and returns the body of the answer, which must be of type want.
func ask(conn *shm.Conn, frame []byte, want shm.Message) ([]byte, error) {
	if err := conn.Sock().SetDeadline(time.Now().Add(statusTimeout)); err != nil {
		return nil, err
	}
	if err := conn.Write(frame, nil); err != nil {
		return nil, err
	}
	f, body, _, err := conn.Read()
	switch {
	case err != nil:
		return nil, err
	case f.Type == shm.MsgFailed:
		code, text, err := shm.DecodeFailed(body)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the daemon failed: %s: %s", code, text)
	case f.Type != want:
		return nil, fmt.Errorf("%s where %s was expected", f.Type, want)
	}
	return body, nil
}

func checkDaemon(cfg *config.Config) (string, error) {
	status, err := daemonStatus(cfg)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("version %s is serving as process %d with %d jobs", status.Version, status.PID, len(status.Jobs)), nil
}
