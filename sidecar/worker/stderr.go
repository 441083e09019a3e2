package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
)

// stderrLog receives a child's standard error: slog records as JSON lines,
// which it forwards to the daemon's log, or the runtime's output when the child
// crashes. It remembers the line that best explains the child's end.
type stderrLog struct {
	log *slog.Logger

	mu    sync.Mutex
	line  []byte
	last  string
	fatal bool // last is the reason of a crash; its stack follows
}

// maxLine is the number of bytes kept of a line.
const maxLine = 1 << 14

// Write implements io.Writer.
func (w *stderrLog) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if room := maxLine - len(w.line); room > 0 {
			w.line = append(w.line, line[:min(len(line), room)]...)
		}
		b = rest
		if whole {
			w.say(strings.ToValidUTF8(string(w.line), "?"))
			w.line = w.line[:0]
		}
	}
	return n, nil
}

func (w *stderrLog) say(line string) {
	if line == "" {
		return
	}
	var entry map[string]any
	message, isText := "", false
	if json.Unmarshal([]byte(line), &entry) == nil {
		message, isText = entry[slog.MessageKey].(string)
	}
	if !isText {
		fatal := strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
		if !w.fatal {
			w.last, w.fatal = line, fatal
		}
		w.log.Warn("worker output", "text", line)
		return
	}
	var level slog.Level
	if text, ok := entry[slog.LevelKey].(string); !ok || level.UnmarshalText([]byte(text)) != nil {
		level = slog.LevelWarn
	}
	var attributes []any
	for name, value := range entry {
		if name != slog.MessageKey && name != slog.LevelKey && name != slog.TimeKey {
			attributes = append(attributes, slog.Any(name, value))
		}
	}
	if level >= slog.LevelError && !w.fatal {
		w.last = message
		if cause, ok := entry["error"].(string); ok {
			w.last += ": " + cause
		}
	}
	w.log.Log(context.Background(), level, message, attributes...)
}

// lastLine returns the line that best explains the child's end, "" if there was
// no output.
func (w *stderrLog) lastLine() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
