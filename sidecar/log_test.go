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
