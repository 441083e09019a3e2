package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// log records what a follower does with table 1, an int key and a text.
type log struct {
	table *Table
	lines []string
}

func newLog() *log {
	return &log{table: &Table{Name: Name{"public", "t"}, OID: 1, Columns: []Column{{Name: "id", Type: 23, Typmod: -1}, {Name: "v", Type: 25, Typmod: -1}},
		Published: []int{0, 1}, Key: []int{0}}}
}

func (l *log) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) lookup(oid uint32) *Table {
	if oid == 1 {
		return l.table
	}
	return nil
}

func (l *log) change(c *Change) error {
	l.add("%d %d %d", c.Kind, len(c.New), len(c.Key))
	return nil
}
func (l *log) commit(_ uint32, end LSN, _ time.Time) error { l.add("commit %d", end); return nil }
func (l *log) received(at LSN)                             { l.add("received %d", at) }
func (l *log) fail(_ *Table, reason error)                 { l.add("fail"); l.table = nil }

// Messages of the protocol.
func u32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func u64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func data(message ...[]byte) []byte {
	return append(append([]byte{'w'}, make([]byte, 24)...), bytes.Join(message, nil)...)
}
func keepalive(at uint64) []byte { return append(append([]byte{'k'}, u64(at)...), make([]byte, 9)...) }
func begin(final uint64) []byte  { return data([]byte{'B'}, u64(final), u64(0), u32(1)) }
func commit(at uint64) []byte    { return data([]byte{'C', 0}, u64(at), u64(at+10), u64(0)) }
func description(oid uint32, typ uint32) []byte {
	return data([]byte{'R'}, u32(oid), []byte("public\x00t\x00d\x00\x02\x01id\x00"), u32(23), u32(0xffffffff), []byte("\x00v\x00"), u32(typ), u32(0xffffffff))
}
func insert(oid uint32) []byte {
	return data([]byte{'I'}, u32(oid), []byte("N\x00\x02b"), u32(4), u32(7), []byte("n"))
}

func follow(frames ...[]byte) (*follower, *log) {
	q := newQueue(1 << 20)
	for _, f := range frames {
		q.put(f)
	}
	l := newLog()
	return newFollower(q, l, 100), l
}

func (f *follower) all(limit LSN) error {
	for {
		moved, err := f.step(limit)
		if !moved || err != nil {
			return err
		}
	}
}

func TestFollower(t *testing.T) {
	f, l := follow(keepalive(50), keepalive(150), begin(200), description(1, 25), insert(1), keepalive(300), commit(200), description(2, 25),
		begin(300), insert(2), commit(300), begin(400), insert(1), commit(400))
	if err := f.all(300); err != nil {
		t.Fatal(err)
	}
	want := []string{"received 150", "1 2 0", "commit 210"}
	if !slices.Equal(l.lines, want) || f.position != 300 {
		t.Errorf("%q at %d", l.lines, f.position)
	}
	if err := f.all(0); err != nil {
		t.Fatal(err)
	}
	want = append(want, "commit 310", "1 2 0", "commit 410")
	if !slices.Equal(l.lines, want) || f.position != 410 {
		t.Errorf("%q at %d", l.lines, f.position)
	}
}

// A fault of a row fails its table, a fault of the order the stream.
func TestFollowerRefuses(t *testing.T) {
	text := data([]byte{'I'}, u32(1), []byte("N\x00\x02t"), u32(1), []byte("7n"))
	unchanged := data([]byte{'I'}, u32(1), []byte("N\x00\x02b"), u32(4), u32(7), []byte("u"))
	few := data([]byte{'I'}, u32(1), []byte("N\x00\x01b"), u32(4), u32(7))
	for name, c := range map[string]struct {
		frames [][]byte
		fails  bool // the table
	}{
		"altered":          {[][]byte{begin(200), description(1, 20), insert(1)}, true},
		"text":             {[][]byte{begin(200), description(1, 25), text}, true},
		"unchanged":        {[][]byte{begin(200), description(1, 25), unchanged}, true},
		"few values":       {[][]byte{begin(200), description(1, 25), few}, true},
		"not described":    {[][]byte{begin(200), insert(1)}, false},
		"not begun":        {[][]byte{description(1, 25), insert(1)}, false},
		"begun twice":      {[][]byte{begin(200), begin(300)}, false},
		"not begun commit": {[][]byte{commit(200)}, false},
		"sent twice":       {[][]byte{begin(50), commit(50)}, false},
		"frame":            {[][]byte{{'x'}}, false},
		"short keepalive":  {[][]byte{{'k', 1}}, false},
		"short data":       {[][]byte{{'w', 1}}, false},
		"message":          {[][]byte{data([]byte("Zzz"))}, false},
	} {
		f, l := follow(c.frames...)
		err := f.all(0)
		if failed := slices.Contains(l.lines, "fail"); failed != c.fails || (err == nil) != c.fails || err != nil && !errors.Is(err, errStream) {
			t.Errorf("%s: %v, %q", name, err, l.lines)
		}
	}
}

// A queue holds no more than its limit, except one frame, and keeps the order.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100)
		var sent atomic.Int64
		go func() {
			for i := range 50 {
				if !q.put(bytes.Repeat([]byte{byte(i)}, 1+i*7)) {
					return
				}
				sent.Add(1)
			}
			q.fail(errLost)
		}()
		c := cursor{queue: q}
		for i := range 50 {
			synctest.Wait()
			frame, err := c.peek()
			if err != nil || len(frame) != 1+i*7 || frame[0] != byte(i) {
				t.Fatalf("frame %d: %d bytes, %v", i, len(frame), err)
			}
			q.mu.Lock()
			waiting := len(q.pending)
			single := waiting > 0 && 4+int(binary.LittleEndian.Uint32(q.pending)) == waiting
			q.mu.Unlock()
			if waiting > 100 && !single {
				t.Fatalf("%d bytes wait", waiting)
			}
			c.next()
		}
		synctest.Wait()
		if frame, err := c.peek(); frame != nil || !errors.Is(err, errLost) || sent.Load() != 50 {
			t.Errorf("%v, %v, %d sent", frame, err, sent.Load())
		}
		q.put(make([]byte, 100))
		go q.put(make([]byte, 100))
		synctest.Wait()
		if !q.waits() {
			t.Error("a full queue takes more")
		}
		q.close() // releases the other one
	})
}

func TestPositions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p positions
		var passed atomic.Int64
		for at := range LSN(10) {
			go func() {
				if p.waitFor(t.Context(), at*10) == nil {
					passed.Add(1)
				}
			}()
		}
		synctest.Wait()
		for _, step := range []struct {
			at   LSN
			want int64
		}{{5, 1}, {30, 4}, {29, 4}, {31, 4}, {1000, 10}} {
			p.advance(step.at)
			synctest.Wait()
			if passed.Load() != step.want {
				t.Errorf("at %d %d have passed", step.at, passed.Load())
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.waitFor(ctx, 2000); !errors.Is(err, context.DeadlineExceeded) || len(p.waiters) != 0 {
			t.Errorf("%v, %d waiters", err, len(p.waiters))
		}
		now := time.Now()
		p.saw(900, now)
		p.saw(1500, now.Add(time.Second))
		p.saw(1700, now.Add(2*time.Second))
		if bytes, since := p.lag(now.Add(5 * time.Second)); bytes != 700 || since != 4*time.Second {
			t.Errorf("%d bytes since %v", bytes, since)
		}
		p.advance(1700)
		if bytes, since := p.lag(now); bytes != 0 || since != 0 {
			t.Errorf("%d bytes since %v", bytes, since)
		}
	})
}

// Callers that wait at the same time share a question, and none gets the answer to one that
// was asked before it came.
func TestAskerSharesQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		a := asker{ended: t.Context(), connect: func(context.Context) (*pgconn.PgConn, error) {
			n := asked.Add(1)
			time.Sleep(time.Second)
			return nil, errLost.because("question %d", n)
		}}
		answers := make(chan string, 100)
		ask := func() {
			_, err := a.latest(t.Context())
			var e *Error
			if errors.As(err, &e) {
				answers <- e.Detail
			}
		}
		go ask()
		time.Sleep(time.Millisecond)
		for range 50 {
			go ask()
		}
		synctest.Wait()
		time.Sleep(3 * time.Second)
		counts := map[string]int{}
		for range 51 {
			counts[<-answers]++
		}
		if asked.Load() != 2 || counts["question 1"] != 1 || counts["question 2"] != 50 {
			t.Errorf("%d questions: %v", asked.Load(), counts)
		}
		a.close()
	})
}
