package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"gpujoin/sidecar"

	"golang.org/x/time/rate"
)

// logOptions configure a Log.
type logOptions struct {
	Level slog.Leveler // lowest level that is logged
	JSON  bool         // JSON instead of key=value
}

// daemonLog is the daemon's log. Logging never blocks, even if the reader of standard
// error stalls: too many lines that wait are dropped and counted, a line that cannot be
// written is lost, and a message that is logged too often is suppressed and counted. The
// caller must call Close.
type daemonLog struct {
	*slog.Logger
	queue  *sidecar.AsyncWriter
	limits *limits
}

// maxQueued is the limit of the lines that wait, in bytes: a few thousand lines.
const maxQueued = 1 << 20

// surviveBrokenPipes makes a write to standard output or standard error fail
// with an error when the pipe has no reader, as for any other file, instead of
// ending the process.
func surviveBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // children would inherit an ignored signal
}

// newLog returns a log that writes to w.
func newLog(w io.Writer, o logOptions) *daemonLog {
	direct := slog.New(o.handler(w))
	l := &daemonLog{queue: sidecar.NewAsyncWriter(w, maxQueued, func(_ error, lines int64) bool {
		if lines > 0 {
			direct.Warn("log lines were dropped because the log's reader is too slow", "lines", lines)
		}
		return true // there is nowhere to report an error, and the reader may come back
	})}
	formatted := o.handler(l.queue)
	l.limits = newLimits(formatted)
	l.Logger = slog.New(&limited{formatted, l.limits})
	return l
}

func (o logOptions) handler(w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: o.Level}
	if o.JSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// Close logs how many messages were suppressed and waits at most timeout until everything
// is written. It reports whether that is so.
func (l *daemonLog) Close(timeout time.Duration) bool {
	l.limits.report()
	return l.queue.Close(timeout)
}

// Each message may be logged burst times at once, and then once a second. The
// number of suppressed records is logged reportAfter later. A crashing worker
// logs its stack line by line, as records of one message.
const (
	burst       = 100
	reportAfter = 10 * time.Second
	// maxMessages is the number of distinct messages that are tracked. The
	// daemon has few of its own, but a worker can log any text.
	maxMessages = 256
)

// limited is a handler that limits the rate of each message. It does not limit
// debug records, which the user has asked for.
type limited struct {
	slog.Handler
	limits *limits
}

func (h *limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo && !h.limits.allow(r.Level, r.Message) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limited{h.Handler.WithAttrs(attrs), h.limits}
}

func (h *limited) WithGroup(name string) slog.Handler {
	return &limited{h.Handler.WithGroup(name), h.limits}
}

// message is what counts as the same: peers that misbehave alike are counted
// together.
type message struct {
	level slog.Level
	text  string
}

// limits are the messages of a log.
type limits struct {
	log *slog.Logger // that is not limited

	mu       sync.Mutex
	messages map[message]*messageLimit
	pending  *time.Timer // nil: nothing was suppressed since the last report
}

type messageLimit struct {
	*rate.Limiter
	suppressed int64
}

func newLimits(h slog.Handler) *limits {
	return &limits{log: slog.New(h), messages: map[message]*messageLimit{}}
}

func (l *limits) allow(level slog.Level, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := message{level, text}
	if l.messages[m] == nil {
		if len(l.messages) >= maxMessages {
			m.text = "other messages"
		}
		if l.messages[m] == nil {
			l.messages[m] = &messageLimit{Limiter: rate.NewLimiter(1, burst)}
		}
	}
	if l.messages[m].Allow() {
		return true
	}
	l.messages[m].suppressed++
	if l.pending == nil {
		l.pending = time.AfterFunc(reportAfter, l.report)
	}
	return false
}

// report says which messages were suppressed since the last report.
func (l *limits) report() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending != nil {
		l.pending.Stop()
		l.pending = nil
	}
	for m, limit := range l.messages {
		if limit.suppressed > 0 {
			l.log.Log(context.Background(), m.level, "a message came too often", "suppressed", m.text, "times", limit.suppressed)
			limit.suppressed = 0
		}
	}
}
