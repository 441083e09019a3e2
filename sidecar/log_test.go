package sidecar

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
)

// stuckLog is a log that stands still at one message, as when the reader of a
// pipe stops.
type stuckLog struct {
	slog.Handler
	at      string
	reached chan struct{}
	release chan struct{}
}

func (l *stuckLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == l.at {
		close(l.reached)
		<-l.release
	}
	return l.Handler.Handle(ctx, r)
}

// TestStuckLog: participants of a job get answers, and its memory goes back,
// while the log takes nothing.
func TestStuckLog(t *testing.T) {
	fails := testBackend(func(context.Context, joincore.Memory, joincore.Sink) error { return joincore.ErrUnsupported })
	for message, last := range map[string]executor.Last{"join failed": fails, "join finished": nil} {
		t.Run(message, func(t *testing.T) {
			l := &stuckLog{at: message, reached: make(chan struct{}), release: make(chan struct{})}
			r := start(t, func(o *Options) {
				l.Handler = o.Log.Handler()
				o.Log = slog.New(l)
			}, last)
			defer close(l.release)
			b, _ := opened(r, 0, shm.Open{})
			must(t, b.Fed(shm.Fed{}))
			must(t, b.Raw().Sock().SetReadDeadline(time.Now().Add(20*time.Second)))
			if err := b.Run(1); last == nil {
				must(t, err)
			} else {
				wantFailure(t, err, shm.FailUnsupported)
			}
			<-l.reached
			_, err := b.Stats()
			must(t, err)
			b.Close()
			r.waitIdle()
		})
	}
}

// levelOf is a log that records the level of one message.
type levelOf struct {
	slog.Handler
	message string
	level   chan slog.Level
}

func (l *levelOf) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == l.message {
		l.level <- r.Level
	}
	return l.Handler.Handle(ctx, r)
}

// TestFailureLevels: an error of the query itself is no warning to the daemon's administrator.
func TestFailureLevels(t *testing.T) {
	for cause, level := range map[error]slog.Level{joincore.ErrArithmetic: slog.LevelInfo, joincore.ErrUnsupported: slog.LevelWarn} {
		l := &levelOf{message: "join failed", level: make(chan slog.Level, 1)}
		r := start(t, func(o *Options) {
			l.Handler = o.Log.Handler()
			o.Log = slog.New(l)
		}, testBackend(func(context.Context, joincore.Memory, joincore.Sink) error { return cause }))
		b, _ := opened(r, 0, shm.Open{})
		must(t, b.Fed(shm.Fed{}))
		if err := b.Run(1); err == nil {
			t.Error("no error")
		}
		if got := <-l.level; got != level {
			t.Errorf("%v is logged at level %v instead of %v", cause, got, level)
		}
		b.Close()
	}
}
