package worker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/executor"

	"golang.org/x/sys/unix"
)

// TestJobFaults: what a provider does to a job is the job's error, and costs
// the child only where nothing else helps.
func TestJobFaults(t *testing.T) {
	for fault, c := range map[string]struct {
		want   error
		text   string
		deadly bool
	}{
		"kill":   {ErrLost, "signal: killed", true},
		"stop":   {ErrLost, "no answer to health checks", true},
		"crash":  {ErrLost, "panic: a fault in C", true},
		"exit":   {ErrLost, "exit status 0", true},
		"sticky": {nil, "an illegal address was touched", true},
		"error":  {nil, "an illegal address was touched", false},
		"panic":  {nil, "a provider's mistake", false},
		"memory": {joincore.ErrBudget, "device memory", false},
	} {
		t.Run(fault, func(t *testing.T) {
			r := start(t, "job "+fault, func(config *Config) {
				if fault == "stop" { // others end by themselves, which may take them a while
					config.Timing.Silence = 5 * time.Second
				}
				config.Timing.RestartFirst = time.Hour
				config.Timing.RestartMost = time.Hour
			}).ready()
			pid := r.pid()
			plan, inputs := explosion(100, 10)
			sink := newSink(r.account, plan, 100)
			job, free := r.job(plan, inputs, sink)
			err := r.remote.Run(t.Context(), job, &joincore.Stats{})
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || sink.open != 0 {
				t.Errorf("%v, %d batches open", err, sink.open)
			}
			free()
			r.idle()
			if !c.deadly {
				if err := r.remote.Ready(); err != nil || r.pid() != pid {
					t.Error(err)
				}
				return
			}
			r.eventually("it waits to be started again", func() bool { return r.remote.Devices()[0].State == executor.StateWaiting })
			d := r.remote.Devices()[0]
			if !strings.Contains(d.Reason, c.text) || d.Restarts != 1 || !strings.HasPrefix(d.Name, "pid ") {
				t.Errorf("%+v", d)
			}
			if err := r.remote.Ready(); !errors.Is(err, executor.ErrUnavailable) {
				t.Error(err)
			}
			if err := r.remote.Run(t.Context(), job, &joincore.Stats{}); !errors.Is(err, executor.ErrUnavailable) {
				t.Error(err)
			}
			if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
				t.Error("the process is still there: ", err)
			}
		})
	}
}

// TestDeaf: a child that does not stop a cancelled job is killed.
func TestDeaf(t *testing.T) {
	r := start(t, "job deaf", func(config *Config) {
		config.Timing.Cancel = 50 * time.Millisecond
		config.Timing.RestartFirst = time.Hour
		config.Timing.RestartMost = time.Hour
	}).ready()
	plan, inputs := explosion(100, 10)
	job, free := r.job(plan, inputs, newSink(r.account, plan, 100))
	defer free()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.remote.Run(ctx, job, &joincore.Stats{}) }()
	r.eventually("the job has begun", func() bool { return strings.Contains(r.logged.String(), "deaf from here on") })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.eventually("it was killed", func() bool {
		return strings.Contains(r.remote.Devices()[0].Reason, "a cancelled join did not stop")
	})
}

// TestSlowToEnd: as long as a killed child has not exited, it gets no jobs, which would wait
// for its exit, and the state says why it was killed. Then another child serves.
func TestSlowToEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hold")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "slow to end "+file, nil)
	defer os.Remove(file)
	pid := r.ready().pid()
	p, err := r.remote.current()
	if err != nil {
		t.Fatal(err)
	}
	p.kill(errors.New("the test kills it"))
	plan, inputs := explosion(100, 10)
	job, free := r.job(plan, inputs, newSink(r.account, plan, 100))
	defer free()
	if err := p.run(t.Context(), job, &joincore.Stats{}); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "the test kills it") {
		t.Error(err)
	}
	r.eventually("it gets no more jobs", func() bool { return r.remote.Ready() != nil })
	if err := r.remote.Run(t.Context(), job, &joincore.Stats{}); !errors.Is(err, executor.ErrUnavailable) || !strings.Contains(err.Error(), "the test kills it") {
		t.Error(err)
	}
	select {
	case <-p.exited:
		t.Error("it ended before its time")
	default:
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r.eventually("another child serves", func() bool { return r.another(pid) })
	if err := r.remote.Run(t.Context(), job, &joincore.Stats{}); err != nil {
		t.Error(err)
	}
}

// TestStuck: a job does not wait for a killed child that does not exit. What the child may
// still write is in use until it has exited.
func TestStuck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hold")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	r := start(t, "slow to end "+file, func(config *Config) { config.Timing.Reap = 50 * time.Millisecond }).ready()
	p, err := r.remote.current()
	if err != nil {
		t.Fatal(err)
	}
	plan, inputs := explosion(1000, 10)
	sink := newSink(r.account, plan, 100)
	sink.before = func(_ context.Context, batches int) error {
		// The child requests batches ahead once it has emitted one. While this batch waits,
		// these are granted, and the child can emit none of them.
		if batches == 9 {
			r.eventually("the child has further batches", func() bool { return sink.opened() > 1 })
			p.kill(errors.New("the test kills it"))
		}
		return nil
	}
	job, free := r.job(plan, inputs, sink)
	if err := r.remote.Run(t.Context(), job, &joincore.Stats{}); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "the test kills it") {
		t.Error(err)
	}
	select {
	case <-p.exited:
		t.Fatal("the child has exited before its time")
	default:
	}
	free()
	if sink.opened() != 0 {
		t.Errorf("the sink misses %d batches", sink.opened())
	}
	u := r.store.Usage()
	kept := u.Extents - u.Free
	if used := r.account.Used(); kept == 0 || used <= int64(kept)*testExtentSize {
		t.Errorf("%d extents are in use, and %d bytes in all", kept, used)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r.idle()
}

// TestBadStarts: whatever is wrong with a program, the state says what.
func TestBadStarts(t *testing.T) {
	for mode, want := range map[string]string{
		"garbage":  "Unrecognized remote plugin message: hello, here is your plugin",
		"exits":    "Unrecognized remote plugin message",
		"protocol": "incompatible API version with plugin. Plugin version: 99",
		"netrpc":   "unsupported plugin protocol \"netrpc\"",
		"silent":   "timeout while waiting for plugin to start",
		"panics":   "panic: no device today",
		"fails":    "the driver is too old",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := start(t, mode, func(config *Config) {
				config.Timing.RestartFirst = time.Hour
				config.Timing.RestartMost = time.Hour
				if mode == "silent" {
					config.Timing.Start = 300 * time.Millisecond
				}
			})
			r.eventually("it waits to be started again", func() bool { return r.remote.Devices()[0].State == executor.StateWaiting })
			d := r.remote.Devices()[0]
			if !strings.Contains(strings.ToLower(d.Reason), strings.ToLower(want)) || strings.Contains(d.Reason, "\n") {
				t.Errorf("%q", d.Reason)
			}
		})
	}
}

// TestStopWhileStarting: stopping does not wait for a child that does not get ready.
func TestStopWhileStarting(t *testing.T) {
	r := start(t, "silent", func(config *Config) { config.Timing.Start = time.Hour })
	r.eventually("it starts", func() bool { return strings.Contains(r.logged.String(), "silent from here on") })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		r.remote.Close()
	}()
	r.eventually("it is stopped", func() bool {
		select {
		case <-closed:
			return true
		default:
			return false
		}
	})
}

// TestNoDevice: a worker without devices is as good as none.
func TestNoDevice(t *testing.T) {
	r := start(t, "empty", nil)
	r.eventually("it is ready", func() bool { return r.remote.Devices()[0].State == executor.StateReady })
	if err := r.remote.Ready(); !errors.Is(err, executor.ErrAbsent) {
		t.Error(err)
	}
}

// TestKept: the state says how much host memory the worker keeps.
func TestKept(t *testing.T) {
	if d := start(t, "keeps", nil).ready().remote.Devices(); d[0].Kept != 5<<20 {
		t.Errorf("%+v", d)
	}
}

// TestBreaker: a child that ends again and again is left alone at last.
func TestBreaker(t *testing.T) {
	r := start(t, "exits", func(config *Config) { config.Timing.Deaths = 3 })
	r.eventually("the breaker opens", func() bool { return r.remote.Devices()[0].State == executor.StateBroken })
	if d := r.remote.Devices()[0]; d.Restarts != 3 {
		t.Errorf("%+v", d)
	}
}

func TestBreakerPauses(t *testing.T) {
	b := breaker{timing: Timing{
		RestartFirst: time.Second, RestartMost: 5 * time.Second, Deaths: 5, Window: time.Minute, Open: time.Hour,
	}}
	now := time.Unix(0, 0)
	for i, want := range []time.Duration{1, 2, 4, 5} {
		if pause, open := b.died(now); pause != want*time.Second || open {
			t.Errorf("death %d: %v, %v", i, pause, open)
		}
	}
	if pause, open := b.died(now); pause != time.Hour || !open {
		t.Errorf("%v, %v", pause, open)
	}
	if pause, open := b.died(now.Add(time.Hour)); pause != time.Second || open {
		t.Errorf("after the breaker was open: %v, %v", pause, open)
	}
	if pause, _ := b.died(now.Add(2 * time.Hour)); pause != time.Second {
		t.Errorf("an old death counts: %v", pause)
	}
}

// TestProbe: nothing is started before the probe finds what is needed.
func TestProbe(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "driver")
	r := start(t, "cpu", func(config *Config) {
		config.Probe = func() error {
			_, err := os.Stat(missing)
			return err
		}
	})
	r.eventually("it is absent", func() bool { return r.remote.Devices()[0].State == executor.StateAbsent })
	if err := r.remote.Ready(); !errors.Is(err, executor.ErrAbsent) || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(missing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.ready()
	if !strings.Contains(r.logged.String(), "provider is not available") || !strings.Contains(r.logged.String(), "device ready") {
		t.Error(r.logged)
	}
}

// TestProgram: a program that others can replace is not started, nor one that
// is not the one expected.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	program, good, link := filepath.Join(open, "p"), filepath.Join(dir, "p"), filepath.Join(dir, "link")
	for _, err := range []error{
		os.Mkdir(open, 0o777), os.Chmod(open, 0o777),
		os.WriteFile(program, []byte("x"), 0o700), os.WriteFile(good, []byte("x"), 0o700), os.Symlink(program, link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(path, want string) {
		t.Helper()
		if _, err := checkProgram(path); !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if real, err := checkProgram(good); err != nil || real != good {
		t.Error(real, err)
	}
	check(program, "other users can write to "+open)
	check(link, "other users can write to "+open)
	check(dir, "not a program")
	check(filepath.Join(dir, "none"), "no such file")
	for mode, want := range map[os.FileMode]string{0o600: "not a program", 0o720: "other users can write", 0o702: "other users can write"} {
		if err := os.Chmod(good, mode); err != nil {
			t.Fatal(err)
		}
		check(good, want)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(good, 0o700), os.Chown(good, 12345, -1)); err != nil {
			t.Fatal(err)
		}
		check(good, "belongs to user 12345")
	}
}

// TestChecksum: another program than the one that was agreed on is not run.
func TestChecksum(t *testing.T) {
	r := start(t, "cpu", func(config *Config) {
		config.Checksum = make([]byte, 32)
		config.Timing.RestartFirst = time.Hour
		config.Timing.RestartMost = time.Hour
	})
	r.eventually("it is refused", func() bool { return strings.Contains(r.remote.Devices()[0].Reason, "checksums did not match") })
}

// TestReplaced: once seen, a program that is changed is not started again.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "worker")
	if err := os.WriteFile(copied, text, 0o700); err != nil {
		t.Fatal(err)
	}
	r := start(t, "cpu", func(config *Config) { config.Path = copied }).ready()
	pid := r.pid()
	if err := os.WriteFile(copied+".new", append(text, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(copied+".new", copied); err != nil {
		t.Fatal(err)
	}
	unix.Kill(pid, unix.SIGKILL)
	r.eventually("it is refused", func() bool { return strings.Contains(r.remote.Devices()[0].Reason, "checksums did not match") })
}

// TestEnvironment: a child gets what it needs of the environment, and no
// passwords.
func TestEnvironment(t *testing.T) {
	r := start(t, "environment", func(config *Config) {
		config.Environ = []string{"PGPASSWORD=secret", "LD_LIBRARY_PATH=/opt/driver", "CUDA_VISIBLE_DEVICES=1", "HOME=/root"}
	}).ready()
	p, err := r.remote.current()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("/proc", itoa(p.cmd.Process.Pid), "environ"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range bytes.Split(text, []byte{0}) {
		name, _, _ := strings.Cut(string(e), "=")
		names = append(names, name)
	}
	all := strings.Join(names, " ")
	for _, want := range []string{"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING", "PLUGIN_UNIX_SOCKET_DIR"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in %s", want, all)
		}
	}
	if strings.Contains(string(text), "secret") || strings.Contains(all, "HOME") {
		t.Error(all)
	}
	if sockets, err := os.ReadDir(r.remote.config.Sockets); err != nil || len(sockets) != 1 {
		t.Errorf("its socket is not where it should be: %v, %v", sockets, err)
	}
}

// TestSockets: what a killed child has left behind goes; a directory of others
// is not used.
func TestSockets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if err := prepareSockets(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := prepareSockets(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := prepareSockets(dir); err == nil {
		t.Error("others may look into it")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := prepareSockets(link); err == nil {
		t.Error("a link was followed")
	}
}

// TestByHand: a worker that is started by hand explains that it is a plugin.
func TestByHand(t *testing.T) {
	out, err := exec.Command(os.Args[0], "worker", "cpu").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "started by gpujoind") {
		t.Errorf("%v: %s", err, out)
	}
}
