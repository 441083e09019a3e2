package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"gpujoin/sidecar/config"
)

// TestWatchdog: systemd hears of the daemon while its heart beats, and nothing once it
// has stopped.
func TestWatchdog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var beats atomic.Uint64
	t.Setenv("NOTIFY_SOCKET", path)
	watchdog(t.Context(), beats.Load, slog.New(slog.DiscardHandler)) // returns: no time is set
	t.Setenv("WATCHDOG_USEC", "80000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watchdog(ctx, beats.Load, slog.New(slog.DiscardHandler))
	}()
	heard := func(patience time.Duration) bool {
		b := make([]byte, 100)
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(b)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || err == nil && string(b[:n]) != "WATCHDOG=1" {
			t.Errorf("%q, %v", b[:n], err)
		}
		return err == nil
	}
	for range 3 {
		beats.Add(1)
		if !heard(10 * time.Second) {
			t.Error("systemd hears nothing of a daemon that lives")
		}
	}
	if heard(200 * time.Millisecond) {
		t.Error("systemd hears of a daemon whose heart stands still")
	}
	cancel()
	<-ended
}

// TestReloadWrong: a configuration with an error changes nothing.
func TestReloadWrong(t *testing.T) {
	var out bytes.Buffer
	r := &reloader{
		current: &config.Config{}, level: &slog.LevelVar{}, log: slog.New(slog.NewTextHandler(&out, nil)),
		load:   func() (*config.Config, error) { return nil, errors.New("line 1 is wrong") },
		adjust: func(config.Config) { t.Error("the server was told of a wrong configuration") },
	}
	r.reload()
	if !bytes.Contains(out.Bytes(), []byte("line 1 is wrong")) {
		t.Errorf("the log says %s", out.String())
	}
}
