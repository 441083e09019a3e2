package fault

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// Tests with a hostile daemon: a proxy changes the messages of a real one. The
// backend must return the native plan's rows or, if it had returned some, raise
// one error. It must never crash, hang, or leak received resources.

// lie changes one frame in transit; false ends the connection after it.
type lie func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool)

// tell has the nth frame of a type changed.
func (w *world) tell(t *testing.T, msg, nth int, l lie) {
	seen := 0
	w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
		if f.Type != msg {
			return []*harness.Frame{f}, true
		}
		if seen++; seen != nth {
			return []*harness.Frame{f}, true
		}
		return l(t, f)
	})
}

// victim is a session that has opened everything that an honest run opens.
type victim struct {
	*harness.Session
	w    *world
	held harness.Holdings
}

func newVictim(t *testing.T, w *world, queries ...string) *victim {
	t.Helper()
	v := &victim{Session: w.proxied(t, serial, "set statement_timeout = '20s'"), w: w}
	for range 2 {
		for _, sql := range append(queries, theSum) {
			query(t, v.Session, sql)
		}
	}
	var err error
	if v.held, err = harness.HoldingsOf(v.PID()); err != nil {
		t.Fatal(err)
	}
	return v
}

// suffers runs a query while the lie is told, checks its outcome, and that the
// session continues with the same resources as before.
func (v *victim) suffers(t *testing.T, msg, nth int, l lie, e end, sql string) {
	t.Helper()
	told := false
	v.w.tell(t, msg, nth, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		told = true
		return l(t, f)
	})
	a := <-ask(v.Session, sql)
	// After a failure the backend leaves the daemon alone for about as long as it took.
	for deadline := time.Now().Add(patience); !told && time.Now().Before(deadline); a = <-ask(v.Session, sql) {
		v.w.right(t, sql, a)
	}
	v.w.Proxy.Rewrite(nil)
	if !told {
		t.Error("the lie was not told")
	}
	v.w.check(t, e, sql, a)
	v.recovers(t)
}

func (v *victim) recovers(t *testing.T) {
	t.Helper()
	v.w.right(t, theSum, <-ask(v.Session, theSum))
	h, err := harness.HoldingsOf(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	if h != v.held {
		t.Errorf("the backend holds %+v after it held %+v", h, v.held)
	}
}

// edit changes a frame in place.
func edit(change func(f *harness.Frame)) lie {
	return func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		change(f)
		return []*harness.Frame{f}, true
	}
}

// header fields of a frame
func setLength(f *harness.Frame, n uint32) { binary.LittleEndian.PutUint32(f.Bytes[4:], n) }
func setType(f *harness.Frame, n uint16)   { binary.LittleEndian.PutUint16(f.Bytes[8:], n) }
func setNFDs(f *harness.Frame, n uint16)   { binary.LittleEndian.PutUint16(f.Bytes[10:], n) }

// frameLies change the frame itself, whatever its content.
var frameLies = []struct {
	name string
	lie  lie
}{
	{"magic", edit(func(f *harness.Frame) { f.Bytes[0] ^= 1 })},
	{"reserved bytes", edit(func(f *harness.Frame) { f.Bytes[15] = 1 })},
	{"length over the limit", edit(func(f *harness.Frame) { setLength(f, 4<<20+1) })},
	{"length of 4 GiB", edit(func(f *harness.Frame) { setLength(f, 1<<32-1) })},
	{"a byte more", edit(func(f *harness.Frame) {
		f.Bytes = append(f.Bytes, 0)
		setLength(f, uint32(len(f.Body())))
	})},
	{"a long body", edit(func(f *harness.Frame) {
		f.Bytes = append(f.Bytes, make([]byte, 1<<20)...)
		setLength(f, uint32(len(f.Body())))
	})},
	{"a byte less, or one", func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		if len(f.Body()) > 0 {
			f.Bytes = f.Bytes[:len(f.Bytes)-1]
		} else {
			f.Bytes = append(f.Bytes, 0)
		}
		setLength(f, uint32(len(f.Body())))
		return []*harness.Frame{f}, true
	}},
	{"the body cut off", func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		f.Bytes = f.Bytes[:len(f.Bytes)-len(f.Body())/2]
		return []*harness.Frame{f}, len(f.Body()) == 0 // a frame without body stays valid
	}},
	{"the header cut off", func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		f.Bytes = f.Bytes[:7]
		return []*harness.Frame{f}, false
	}},
	{"type 0", edit(func(f *harness.Frame) { setType(f, 0) })},
	{"type 65535", edit(func(f *harness.Frame) { setType(f, 65535) })},
	{"a backend's type", edit(func(f *harness.Frame) { setType(f, harness.MsgHello) })},
	{"another type", edit(func(f *harness.Frame) { setType(f, harness.MsgChainExtent) })},
	{"statistics", edit(func(f *harness.Frame) { setType(f, harness.MsgStats) })},
	{"a descriptor more in the header", edit(func(f *harness.Frame) { setNFDs(f, uint16(len(f.FDs())+1)) })},
	{"no descriptor in the header, one beside it", func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		setNFDs(f, 0)
		f.SetFDs(pipeEnd(t))
		return []*harness.Frame{f}, true
	}},
	{"253 descriptors", func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		fds := make([]int, 253)
		for i := range fds {
			fds[i] = pipeEnd(t)
		}
		f.SetFDs(fds...)
		setNFDs(f, 253)
		return []*harness.Frame{f}, true
	}},
	{"two frames with their descriptors in one", func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		f.Bytes = append(f.Bytes, f.Bytes...)
		f.SetFDs(append(f.TakeFDs(), pipeEnd(t))...)
		return []*harness.Frame{f}, true
	}},
	{"FAILED without a body", func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		f.Drop()
		return []*harness.Frame{harness.NewFrame(harness.MsgFailed, nil)}, true
	}},
	{"FAILED with less text than it says", func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		f.Drop()
		return []*harness.Frame{failedFrame(6, 1<<32-1, "short")}, true
	}},
	{"FAILED with a format and bytes of no encoding", func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		f.Drop()
		text := "%s%n%s%n \xff\xfe\x00\x01\x1b[31m"
		return []*harness.Frame{failedFrame(4711, uint32(len(text)), text)}, true
	}},
	{"END", func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		if f.Type == harness.MsgResult {
			// Before any row this would be a valid empty result.
			f.Bytes[0] = 0
			return []*harness.Frame{f}, true
		}
		f.Drop()
		return []*harness.Frame{harness.NewFrame(harness.MsgEnd, nil)}, true
	}},
}

func failedFrame(code, length uint32, text string) *harness.Frame {
	body := binary.LittleEndian.AppendUint32(nil, code)
	body = binary.LittleEndian.AppendUint32(body, length)
	return harness.NewFrame(harness.MsgFailed, append(body, text...))
}

// Malformed frames, in place of each frame that a backend awaits.
func TestHostileFrames(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	for _, answer := range []struct {
		name     string
		msg, nth int
		e        end
	}{
		{"welcome", harness.MsgWelcome, 1, rightRows},
		{"admitted", harness.MsgAdmitted, 1, rightRows},
		{"grant", harness.MsgGrant, 1, rightRows},
		{"fed ok", harness.MsgFedOK, 1, rightRows},
		{"running", harness.MsgRunning, 1, rightRows},
		{"first result", harness.MsgResult, 1, rightRows},
		{"third result", harness.MsgResult, 3, anError},
	} {
		for _, l := range frameLies {
			t.Run(answer.name+", "+l.name, func(t *testing.T) {
				point.Point{What: "sends " + l.name, Process: daemon, Moment: answer.name, Shape: serialJoin, Expect: answer.e.String()}.Announce(t)
				v.suffers(t, answer.msg, answer.nth, l.lie, answer.e, theSum)
			})
		}
	}
	w.unharmed(t, v.Session)
}

// The same in a parallel node, for one participant.
func TestHostileFramesParallel(t *testing.T) {
	w := theWorld(t)
	s := w.proxied(t, "set max_parallel_workers_per_gather = 2; set statement_timeout = '20s'")
	parallelPlan(t, s, theSum)
	for _, answer := range []struct {
		name     string
		msg, nth int
	}{
		{"admitted", harness.MsgAdmitted, 2}, {"grant", harness.MsgGrant, 2}, {"running", harness.MsgRunning, 1}, {"result", harness.MsgResult, 2},
	} {
		for i, l := range frameLies {
			if i%3 != 0 {
				continue
			}
			t.Run(answer.name+", "+l.name, func(t *testing.T) {
				w.tell(t, answer.msg, answer.nth, l.lie)
				w.check(t, either, theSum, <-ask(s, theSum))
				w.Proxy.Rewrite(nil)
				w.right(t, theSum, <-ask(s, theSum))
				released(t, s)
			})
		}
	}
	w.unharmed(t, s)
}

// Frames that arrive byte by byte are valid.
func TestFramesByteByByte(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	joins := reportOf(t, v.Session).Totals.Joins
	w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
		rest := f.Bytes[1:]
		f.Bytes = f.Bytes[:1:1]
		frames := []*harness.Frame{f}
		for i := range rest {
			frames = append(frames, &harness.Frame{Bytes: rest[i : i+1]})
		}
		return frames, true
	})
	a := <-ask(v.Session, theSum)
	w.Proxy.Rewrite(nil)
	w.right(t, theSum, a)
	if now := reportOf(t, v.Session).Totals.Joins; now != joins+1 {
		t.Errorf("%d joins were offloaded instead of one", now-joins)
	}
	v.recovers(t)
}

// The content of WELCOME, on which everything else relies.
func TestHostileWelcome(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	for _, c := range []struct {
		field  string
		at     int // in the body
		values []uint64
	}{
		{"protocol version", 0, []uint64{0, 2, 1<<32 - 1}},
		{"layout version", 4, []uint64{0, 2, 1<<32 - 1}},
		{"extent size", 8, []uint64{0, 1, 4096, 1<<20 - 1, 1<<20 + 4096, 2 << 20, 1 << 30, 1<<30 + 4096, 1 << 40, 1 << 63, 1<<64 - 1}},
	} {
		for _, value := range c.values {
			t.Run(fmt.Sprintf("%s %d", c.field, value), func(t *testing.T) {
				point.Point{What: fmt.Sprintf("another version, or wrong: %s %d", c.field, value), Process: daemon, Moment: "welcome", Shape: serialJoin, Expect: point.AllRows}.Announce(t)
				v.suffers(t, harness.MsgWelcome, 1, edit(func(f *harness.Frame) {
					if c.at < 8 {
						binary.LittleEndian.PutUint32(f.Body()[c.at:], uint32(value))
					} else {
						binary.LittleEndian.PutUint64(f.Body()[c.at:], value)
					}
				}), rightRows, theSum)
			})
		}
	}
	w.unharmed(t, v.Session)
}

// The report that daemon_status() shows is text from the peer.
func TestHostileStatus(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w, "select * from gpujoin.daemon_status()", "select * from gpujoin.status()")
	const msgStatus = harness.MsgStats + 1
	for _, text := range []string{
		"", "{", "\x00", "null", "[1, 2]", `{"pid": "x"}`, `{"pool": 7, "jobs": {}}`, `"\u0000"`, "\"\xff\xfe\"", `{"uptime_s": 1e999}`, `{"stopping": "perhaps"}`,
	} {
		for _, function := range []string{"gpujoin.daemon_status()", "gpujoin.status()"} {
			w.tell(t, msgStatus, 1, func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
				f.Drop()
				return []*harness.Frame{harness.NewFrame(msgStatus, []byte(text))}, true
			})
			ctx, cancel := bounded()
			_, err := v.Query(ctx, "select * from "+function)
			cancel()
			w.Proxy.Rewrite(nil)
			if state := harness.SQLState(err); err != nil && (state == "" || state == "XX000") {
				t.Errorf("%s with %q: %v", function, text, err)
			}
			v.recovers(t)
		}
	}
	w.unharmed(t, v.Session)
}
