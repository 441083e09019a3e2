// Package cli implements the daemon's log. Logging never blocks, even if
// the reader of standard error stalls: lines are formatted, put into a bounded
// queue and written by a goroutine. A line that finds the queue full is dropped
// and counted, a line that cannot be written is lost, and a message that is
// logged too often is suppressed and counted.
package cli

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// logOptions configure a Log.
type logOptions struct {
	Level slog.Level // lowest level that is logged
	JSON  bool       // JSON instead of key=value
}

// daemonLog is an asynchronous log. The caller must call Close.
type daemonLog struct {
	*slog.Logger
	queue  *queue
	limits *limits
}

// surviveBrokenPipes makes a write to standard output or standard error fail
// with an error when the pipe has no reader, as for any other file, instead of
// ending the process.
func surviveBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // children would inherit an ignored signal
}

// newLog returns a log that writes to w.
func newLog(w io.Writer, o logOptions) *daemonLog {
	l := &daemonLog{queue: newQueue(w, maxQueued)}
	formatted := o.handler(l.queue)
	direct := slog.New(o.handler(w))
	l.queue.dropped = func(lines int64) {
		direct.Warn("log lines were dropped because the log's reader is too slow", "lines", lines)
	}
	l.limits = newLimits(formatted)
	l.Logger = slog.New(&limited{formatted, l.limits})
	go l.queue.write()
	return l
}

func (o logOptions) handler(w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: o.Level}
	if o.JSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// Close logs how many messages were suppressed and waits at most patience for
// the queue to be written. It reports whether everything was written; if not, a
// goroutine may still be blocked in w.Write.
func (l *daemonLog) Close(patience time.Duration) bool {
	l.limits.report()
	return l.queue.close(patience)
}
