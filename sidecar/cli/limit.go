package cli

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

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

// Handle implements slog.Handler.
func (h *limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo && !h.limits.allow(r.Level, r.Message) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limited{h.Handler.WithAttrs(attrs), h.limits}
}

// WithGroup implements slog.Handler.
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
