package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/shm"
	"gpujoin/sidecar"
	"gpujoin/sidecar/config"
	"gpujoin/testsupport/backend"
	"gpujoin/version"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain also acts as gpujoind for a daemon of a test, which measures in a process of
// its own program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "calibrate" {
		os.Exit(Main(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("os/signal.loop"))
}

// gpujoind runs a command line and returns its exit code and output.
func gpujoind(args ...string) (int, string) {
	var out bytes.Buffer
	code := Main(args, nil, &out, &out)
	return code, out.String()
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(dir, "wrong.toml")
	if err := os.WriteFile(wrong, []byte("socket = \"/x\"\ncolour = \"blue\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", ExitOK, "Usage:"},
		{"--help", ExitOK, "Exit codes"},
		{"version", ExitOK, fmt.Sprintf("protocol %d, layout %d", shm.ProtocolVersion, shm.LayoutVersion)},
		{"--version", ExitOK, fmt.Sprintf("gpujoind %s, protocol %d, layout %d", version.Text, shm.ProtocolVersion, shm.LayoutVersion)},
		{"dance", ExitUsage, "dance"},
		{"version now", ExitUsage, "does not accept"},
		{"serve --colour blue", ExitUsage, "unknown flag"},
		{"serve --config " + wrong, ExitUsage, "wrong.toml:2: unknown setting \"colour\""},
		{"serve --socket relative --calibrate false", ExitFailure, "not absolute"},
		{"serve --socket " + dir + "/s --memory-budget 1MB", ExitUsage, "less than four extents"},
		{"serve --socket " + dir + "/s --extent-size 3MB", ExitUsage, "power of two"},
		{"check --socket " + dir + "/s --memory-budget 256MB", ExitNoDaemon, "no daemon serves"},
		{"check --socket " + dir + "/s --memory-budget 256MB", ExitNoDaemon, "the budget of these settings is 256 MB"},
		{"check --socket " + dir + "/s --memory-budget 95%", ExitFailure, "is more than 90% of"},
		{"check --socket " + dir + "/no/s --memory-budget 256MB", ExitFailure, "no such file"},
		{"check --socket " + dir + "/s --memory-budget 256MB --provider cpu", ExitNoDaemon, "not used: provider is cpu"},
		{"check --socket " + dir + "/s --memory-budget 256MB --cuda-plugin /nonexistent", ExitNoDaemon, "not used: "},
		{"check --socket " + dir + "/s --memory-budget 256MB --cuda-plugin /nonexistent --provider cuda", ExitFailure, "provider cuda  FAILED"},
		{"status --socket " + dir + "/s", ExitNoDaemon, "no daemon serves"},
		{"status --socket " + dir + "/s --json", ExitNoDaemon, "no daemon serves"},
		{"metrics --socket " + dir + "/s", ExitNoDaemon, "no daemon serves"},
		{"serve --metrics-listen 0.0.0.0:9947", ExitUsage, "not a loopback address"},
		{"serve --metrics-listen localhost:9947", ExitUsage, "not a loopback address"},
		{"check --socket " + dir + "/s --memory-budget 256MB --state-dir " + dir, ExitNoDaemon, dir},
		{"check --socket " + dir + "/s --memory-budget 256MB --state-dir " + dir + "/no", ExitFailure, "measured rates cannot be saved"},
		{"config --window 4", ExitOK, "\nwindow = 4\n"},
		{"serve --provider gpu", ExitUsage, "none of auto, cpu, cuda"},
		{"dump", ExitUsage, "takes one file"},
		{"dump " + wrong, ExitFailure, "not a batch"},
		{"dump /nonexistent", ExitFailure, "no such file"},
		{"dump /dev/zero", ExitFailure, "not a file"},
	} {
		code, out := gpujoind(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("gpujoind %s: exit code %d: %s", c.args, code, out)
		}
	}
	_, out := gpujoind("version", "--json")
	var v struct{ Version string }
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Version == "" {
		t.Errorf("%q: %v", out, err)
	}
}

// checkJSON runs a check that prints JSON. Cores have no strategies.
func checkJSON(t *testing.T, socket string) (code int, checks []result) {
	t.Helper()
	code, out := gpujoind("check", "--json", "--socket", socket, "--memory-budget", "64MB", "--provider", "cpu")
	var got struct {
		Checks     []result
		Strategies []deviceStrategies
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Checks) != 11 || got.Strategies == nil || len(got.Strategies) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	return code, got.Checks
}

// TestServe serves with a trace, talks to it, stops it by signal, and reads
// the trace and the status file back.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket, trace, file := filepath.Join(dir, "s"), filepath.Join(dir, "trace"), filepath.Join(dir, "toml")
	if err := os.WriteFile(file, []byte("log_level = \"info\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	told := systemd(t, dir)
	var code int
	var out string
	done := make(chan struct{})
	go func() {
		defer close(done)
		code, out = gpujoind("serve", "--config", file, "--socket", socket, "--memory-budget", "64MB", "--extent-size", "1MB",
			"--memory-warm", "2MB", "--calibrate", "false", "--log-format", "json", "--trace", trace, "--metrics-listen", "127.0.0.1:0")
	}()
	var c *backend.Conn
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if c, err = backend.Dial(socket, 0); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	told("READY=1")
	status, err := c.Status()
	if err != nil || !json.Valid(status) {
		t.Errorf("%s, %v", status, err)
	}
	if code, out := gpujoind("check", "--socket", socket, "--memory-budget", "99MB"); code != ExitOK || !strings.Contains(out, "the budget of the running daemon is 64 MB") {
		t.Errorf("check: %d: %s", code, out)
	}
	if code, checks := checkJSON(t, socket); code != ExitOK || slices.ContainsFunc(checks, func(r result) bool { return !r.OK || r.Text == "" }) {
		t.Errorf("check as JSON: %d: %+v", code, checks)
	}
	if code, checks := checkJSON(t, socket+"none"); code != ExitNoDaemon || !slices.ContainsFunc(checks, func(r result) bool { return r.Check == "daemon" && !r.OK }) {
		t.Errorf("check without a daemon as JSON: %d: %+v", code, checks)
	}
	checkReports(t, socket)
	if code, out := gpujoind("dump", socket+".status"); code != ExitOK || !strings.Contains(out, "budget=67108864") {
		t.Errorf("dump: %d: %s", code, out)
	}
	if err := backend.Send(c, shm.MsgWant, &shm.Want{Count: 1}); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := c.Receive(); err == nil {
		t.Error("extents without a job")
	}
	c.Close()
	hangups := make(chan os.Signal, 1) // a daemon that does not care for SIGHUP would end here, with the tests
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if err := os.WriteFile(file, []byte("log_level = \"debug\"\nwindow = 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-hangups
	told("STATUS=configuration reloaded")
	if c, err = backend.Dial(socket, 0); err != nil {
		t.Fatal("after SIGHUP: ", err)
	}
	if _, err := c.Status(); err != nil {
		t.Error("after SIGHUP: ", err)
	}
	c.Close()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-done
	told("STOPPING=1")
	if code != ExitOK || !strings.Contains(out, `"msg":"stopped"`) || !strings.Contains(out, `"msg":"serving metrics","address":"127.0.0.1:`) {
		t.Errorf("serve: %d: %s", code, out)
	}
	if want := `"msg":"configuration reloaded","config":"` + file + `","changed":["log_level"],"need a restart":["window"]`; !strings.Contains(out, want) {
		t.Errorf("no %s in the log:\n%s", want, out)
	}
	_, text := gpujoind("dump", trace)
	for _, want := range []string{"-> HELLO protocol_version=", "<- WELCOME", "-> STATUS_GET", "<- STATUS ", "-> WANT count=1", "<- FAILED protocol: WANT arrived without a job"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the trace:\n%s", want, text)
		}
	}
}

// checkReports reads what a daemon says of itself.
func checkReports(t *testing.T, socket string) {
	t.Helper()
	code, out := gpujoind("status", "--socket", socket)
	for _, want := range []string{
		`state +running, process \d+, for`, `rates: default`, `JOBS\n  none\n`, `MEMORY, 0 of 64MB reserved\n`, `\n    free extents +2MB`,
		`\n  cpu 0 +.* ready +`, `\n  memory_budget +64MB +--memory-budget\n`, `\n  window +16 +default\n`,
	} {
		if code != ExitOK || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("status: %d, no %q in\n%s", code, want, out)
		}
	}
	var status sidecar.Status
	code, out = gpujoind("status", "--json", "--socket", socket)
	if err := json.Unmarshal([]byte(out), &status); code != ExitOK || err != nil || status.PID != os.Getpid() || status.Budget != 64<<20 || len(status.Settings) < 20 {
		t.Errorf("status --json: %d, %v: %s", code, err, out)
	}
	code, out = gpujoind("metrics", "--socket", socket)
	if code != ExitOK || !strings.Contains(out, "\ngpujoin_memory_budget_bytes 6.7108864e+07\n") {
		t.Errorf("metrics: %d: %s", code, out)
	}
}

// systemd is what is told how a service gets on. It returns a function that
// expects the next message to begin with a text.
func systemd(t *testing.T, dir string) func(want string) {
	t.Helper()
	path := filepath.Join(dir, "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func(want string) {
		t.Helper()
		b := make([]byte, 1000)
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), want) {
			t.Errorf("systemd was told %q, %v in place of %q", b[:max(n, 0)], err, want)
		}
	}
}

// TestServeTwice starts a daemon where one serves or is about to: it neither
// measures anything nor touches the first one's rates.
func TestServeTwice(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	claim, err := sidecar.ClaimSocket(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	code, out := gpujoind("serve", "--socket", socket)
	if code != ExitFailure || !strings.Contains(out, fmt.Sprintf("another daemon serves this socket: process %d", os.Getpid())) {
		t.Errorf("%d: %s", code, out)
	}
	if _, err := os.Lstat(socket + ".rates"); err == nil {
		t.Error("it has measured rates")
	}
}

// TestCalibrate measures on demand, into the file that a daemon reads.
func TestCalibrate(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(socket+".rates", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := gpujoind("calibrate", "--socket", socket)
	if code != ExitOK || !strings.Contains(out, "16384") || !strings.Contains(out, "of the cores' time was available") {
		t.Errorf("%d: %s", code, out)
	}
	var m costmodel.MeasuredRates
	text, err := os.ReadFile(socket + ".rates")
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil || m.Share <= 0 || m.Rates.ProbeNS[0] <= 0 {
		t.Errorf("%v: %s", err, text)
	}
}

// TestMeasureApart: the measurement of a starting daemon keeps good rates, and
// replaces those of another machine.
func TestMeasureApart(t *testing.T) {
	cfg := &config.Config{Socket: filepath.Join(t.TempDir(), "s"), Cores: 2, MemoryBudget: 64 << 20, Memory: config.Memory{Total: 1 << 30}}
	known := calibration(cfg, cpu.New(), slog.New(slog.DiscardHandler))
	if _, source := known.Known(time.Now()); source != sidecar.RatesDefault {
		t.Errorf("%s rates without a file", source)
	}
	update := measure(cfg, os.Environ(), known)
	rates, source, err := update(t.Context())
	if err != nil || source != sidecar.RatesMeasured || rates.ProbeNS[0] <= 0 {
		t.Errorf("%s %+v, %v", source, rates, err)
	}
	if again, source := known.Known(time.Now()); source != sidecar.RatesSaved || again != rates {
		t.Errorf("%s %+v", source, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := update(ctx); err == nil {
		t.Error("measured after the daemon's end")
	}
	cfg.MemoryBudget = -1
	if _, _, err := measure(cfg, os.Environ(), known)(t.Context()); err == nil || !strings.Contains(err.Error(), "memory_budget") {
		t.Errorf("%v in place of the process's own error", err)
	}
}

// TestDumpExtent prints an extent through its descriptor.
func TestDumpExtent(t *testing.T) {
	fd, err := shm.CreateMemfd(shm.ExtentMinSize)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b, err := shm.MapAligned(fd, shm.ExtentMinSize)
	if err != nil {
		t.Fatal(err)
	}
	shapes := []shm.ColumnShape{{Encoding: shm.EncFixed, Width: 8, Align: 8}, {Encoding: shm.EncVarlena, Align: 4}}
	rows := [][]backend.Value{{backend.Int64(-7), backend.Varlena("seven", 4)}, {nil, nil}}
	if _, err := backend.Fill(b, shapes, rows, 0); err != nil {
		t.Fatal(err)
	}
	if err := shm.Unmap(b); err != nil {
		t.Fatal(err)
	}
	code, out := gpujoind("dump", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	if code != ExitOK || !strings.Contains(out, "batch rows=2 columns=2") || !strings.Contains(out, "row 0: -7 \"\\rseven") ||
		!strings.Contains(out, "row 1: NULL NULL") {
		t.Errorf("%d: %s", code, out)
	}
}

// TestCheckSpool: a directory in which unread results cannot be on disk does not pass.
func TestCheckSpool(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[[2]string]string{
		{"--spool-limit", "0"}:       `spool +ok +unread results stay in memory`,
		{"--spool-dir", dir + "/no"}: `spool +FAILED .*no such file`,
		{"--spool-dir", "/dev/shm"}:  `spool +FAILED +/dev/shm is in memory`,
	} {
		_, out := gpujoind("check", "--socket", filepath.Join(dir, "s"), "--provider", "cpu", args[0], args[1])
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%v: no %q in:\n%s", args, want, out)
		}
	}
}
