package cli

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a writer whose reader has stopped, until it goes on.
type stuck struct {
	goOn chan struct{}

	mu sync.Mutex
	bytes.Buffer
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.goOn
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Buffer.Write(b)
}

func (s *stuck) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Buffer.String()
}

// TestStuckReader: a reader that stops does not delay logging, and learns how many
// lines it has missed.
func TestStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{goOn: make(chan struct{})}
		l := newLog(w, logOptions{Level: slog.LevelDebug})
		long := strings.Repeat("x", 1<<10)
		const lines = 3 * maxQueued >> 10
		for i := range lines {
			l.Debug(long, "line", i)
		}
		if l.Close(time.Second) {
			t.Error("all was written, to a writer that is stuck")
		}
		close(w.goOn)
		if !l.Close(time.Second) {
			t.Error("not all was written")
		}
		written := strings.Count(w.String(), long)
		said := fmt.Sprintf("msg=\"log lines were dropped because the log's reader is too slow\" lines=%d", lines-written)
		if written == 0 || written > 2*maxQueued/len(long) || !strings.Contains(w.String(), said) {
			t.Errorf("%d of %d lines, and not %q:\n%.300s", written, lines, said, w.String()[max(0, w.Len()-300):])
		}
	})
}

// TestOrder: lines come whole and in order.
func TestOrder(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, logOptions{Level: slog.LevelDebug, JSON: true})
	var want []string
	for i := range 1000 {
		l.Debug("line", "number", i)
		want = append(want, fmt.Sprintf(`"level":"DEBUG","msg":"line","number":%d}`, i))
	}
	if !l.Close(time.Minute) {
		t.Fatal("not all was written")
	}
	l.Debug("late") // goes nowhere
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines of %d", len(lines), len(want))
	}
	for i, line := range lines {
		if !strings.HasSuffix(line, want[i]) {
			t.Fatalf("line %d: %s", i, line)
		}
	}
}

// TestRepeatedMessages: a message that comes too often is suppressed and
// counted, others are not; with time it may come again.
func TestRepeatedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newLog(&out, logOptions{})
		peer := l.With("session", 7)
		for i := range burst + 80 {
			peer.Warn("protocol violation", "frame", i)
		}
		l.Warn("something else")
		time.Sleep(reportAfter + time.Second)
		peer.Warn("protocol violation", "frame", "later")
		if !l.Close(time.Second) {
			t.Fatal("not all was written")
		}
		for text, want := range map[string]int{
			`msg="protocol violation" session=7`: burst + 1,
			`msg="something else"`:               1,
			`msg="a message came too often" suppressed="protocol violation" times=80`: 1,
			"suppressed":  1,
			"frame=later": 1,
		} {
			if n := strings.Count(out.String(), text); n != want {
				t.Errorf("%q came %d times, not %d", text, n, want)
			}
		}
	})
}

// TestManyMessages: the memory for distinct messages is bounded; messages beyond
// the bound are limited together.
func TestManyMessages(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, logOptions{})
	for i := range 10 * maxMessages {
		l.Info(fmt.Sprint("message ", i))
	}
	if n := len(l.limits.messages); n > maxMessages+1 {
		t.Errorf("%d messages are kept", n)
	}
	if !l.Close(time.Minute) {
		t.Fatal("not all was written")
	}
	if n := strings.Count(out.String(), "\n"); n > maxMessages+burst+10 {
		t.Errorf("%d lines", n)
	}
}

// TestReaderDies: a process continues when the reader of its log has ended.
func TestReaderDies(t *testing.T) {
	if os.Getenv("LOGGING_TEST_CHILD") != "" {
		surviveBrokenPipes()
		l := newLog(os.Stderr, logOptions{})
		l.Info("first")
		for range 10 {
			_, _ = os.Stdin.Read(make([]byte, 1)) // the test has closed its end
			l.Info("more")
			time.Sleep(time.Millisecond)
		}
		l.Close(time.Second)
		fmt.Print("alive")
		os.Exit(0)
	}
	child := exec.Command(os.Args[0], "-test.run=TestReaderDies")
	child.Env = append(os.Environ(), "LOGGING_TEST_CHILD=1")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	child.Stderr = writer
	var out bytes.Buffer
	child.Stdout = &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	if _, err := io.ReadAtLeast(reader, make([]byte, 1), 1); err != nil {
		t.Fatal(err)
	}
	reader.Close()
	stdin.Close()
	if err := child.Wait(); err != nil || out.String() != "alive" {
		t.Errorf("%v, %q", err, out.String())
	}
}
