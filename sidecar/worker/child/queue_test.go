package child

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
)

func TestDeviceQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newDeviceQueue(Device{Jobs: 2})
		for range 2 {
			if err := l.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		if err := l.enter(t.Context()); !errors.Is(err, errBusy) || time.Since(start) != queueTimeout {
			t.Errorf("the third job: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.enter(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a job that was cancelled: %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- l.enter(t.Context()) }()
		synctest.Wait()
		if n := l.load(); n != 3 {
			t.Errorf("%d jobs, 2 of them with the device and 1 that waits", n)
		}
		l.leave()
		if err := <-waiting; err != nil {
			t.Errorf("a job that waited for another one to end: %v", err)
		}
		l.leave()
		l.leave()
		if n := l.load(); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

// without is a provider that notes what it does without.
type without struct {
	device.Provider
	what string
}

func (w *without) Note() string { return w.what }

// TestNote: what a provider does without is said in the device's status for as
// long as that is so, and in the log when it begins.
func TestNote(t *testing.T) {
	var text strings.Builder
	p := &without{Provider: cpu.New()}
	s := newServer(&Machine{Devices: []Device{{Provider: p, Name: "test"}, {Provider: cpu.New()}}}, slog.New(slog.NewTextHandler(&text, nil)))
	for i, what := range []string{"", "no light", "no light", "", "no light", "no air"} {
		p.what = what
		reply, err := s.Status(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.GetDevices()[0].GetNote(); got != what {
			t.Errorf("%d: note %q in place of %q", i, got, what)
		}
		if got := reply.GetDevices()[1].GetNote(); got != "" {
			t.Errorf("%d: the other device has the note %q", i, got)
		}
	}
	s.pool.registrars[0] = &registrar{refused: errors.New("too much is locked")}
	reply, err := s.Status(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.GetDevices()[0].GetNote(); !strings.HasPrefix(got, "no air; ") || !strings.HasSuffix(got, "too much is locked") {
		t.Errorf("of two notes it says %q", got)
	}
	if light, air := strings.Count(text.String(), "no light"), strings.Count(text.String(), "no air"); light != 2 || air != 1 {
		t.Errorf("said %d and %d times", light, air)
	}
}
