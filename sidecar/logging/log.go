// Package logging is the daemon's log. Whoever logs goes on at once, whatever
// becomes of the reader of standard error: lines are formatted, put into a
// bounded queue and written by a goroutine. A line that finds the queue full is
// dropped and counted, one that cannot be written is lost, and a message that
// comes too often is suppressed and counted.
package logging

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Options say what is logged, and how.
type Options struct {
	Level slog.Level // the least that is logged
	JSON  bool       // else key=value
}

// Log is a log. Close must end it.
type Log struct {
	*slog.Logger
	queue  *queue
	limits *limits
}

// SurviveBrokenPipes makes a write to a pipe that nobody reads an error, as it
// is for other files than standard output and standard error: the process must
// not end with who reads its log.
func SurviveBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // children would inherit that it is ignored
}

// New returns a log that writes to w.
func New(w io.Writer, o Options) *Log {
	l := &Log{queue: newQueue(w, maxQueued)}
	formatted := o.handler(l.queue)
	direct := slog.New(o.handler(w))
	l.queue.dropped = func(lines int64) {
		direct.Warn("log lines were dropped: what reads the log is too slow", "lines", lines)
	}
	l.limits = newLimits(formatted)
	l.Logger = slog.New(&limited{formatted, l.limits})
	go l.queue.write()
	return l
}

func (o Options) handler(w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: o.Level}
	if o.JSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// Close says what was suppressed, and leaves the writer as long as patience to
// write what is queued. It returns whether all was written; if not, the
// goroutine still waits for w.
func (l *Log) Close(patience time.Duration) bool {
	l.limits.report()
	return l.queue.close(patience)
}
