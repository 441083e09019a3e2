package fault

import (
	"fmt"
	"testing"

	"gpujoin/shm"
	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// theKept reads a table of which the daemon keeps most blocks.
const theKept = "select count(*), sum(s.id), max(s.note) from stored s join dim d on s.k = d.k where s.g < 7"

// storedTable makes the table, and returns a function after which a query has to prove some of
// its blocks, to feed others, and to capture some of these.
func (w *world) storedTable(t *testing.T) (change func()) {
	t.Helper()
	s := w.Session(t, native)
	t.Cleanup(func() {
		exec(t, s, "drop table stored")
		_ = s.Close()
	})
	exec(t, s, "set synchronous_commit = on") // otherwise VACUUM may not see yet that the rows are committed
	exec(t, s, "create table stored with (fillfactor = 50) as select * from fact")
	exec(t, s, "reset synchronous_commit")
	exec(t, s, "vacuum analyze stored")
	turn := 0
	return func() {
		turn++
		exec(t, s, fmt.Sprintf("update stored set note = note where id %% 400 = %d", turn%400))
		exec(t, s, "vacuum stored")
		exec(t, s, "checkpoint") // what VACUUM has written is on disk
		exec(t, s, "update stored set note = note where id % 5000 = 11")
	}
}

// keptMessages are those on kept columns, in their order.
var keptMessages = []struct {
	name string
	msg  int
}{
	{"pages", harness.MsgPages}, {"kept", harness.MsgKept}, {"blocks requested", harness.MsgBlocksGet}, {"blocks", harness.MsgBlocks},
	{"captured", harness.MsgCaptured}, {"proved", harness.MsgProved},
}

// what happens to the daemon, by the name of a fault.
var what = map[string]string{"kill": "killed", "cut": "connection cut"}

const always = "set gpujoin.keep = always"

// The daemon is killed, or the connection cut, at each message on kept columns.
func TestKillWhileKept(t *testing.T) {
	w := theWorld(t)
	change := w.storedTable(t)
	for _, m := range keptMessages {
		for _, p := range participants {
			for _, fault := range []string{"kill", "cut"} {
				t.Run(fmt.Sprintf("%s, %s, %s", m.name, p.name, fault), func(t *testing.T) {
					point.Point{What: what[fault], Process: daemon, Moment: m.name, Shape: overKept + ", " + p.name, Expect: point.AllRows}.Announce(t)
					s := w.proxied(t, p.settings, always)
					query(t, s, theKept)
					change()
					h := w.Proxy.HoldFrame(m.msg, 1)
					done := ask(s, theKept)
					reached(t, h, done)
					if fault == "cut" {
						h.Cut()
					} else {
						if err := w.Daemon.Kill(); err != nil {
							t.Fatal(err)
						}
						h.Release()
					}
					w.right(t, theKept, <-done)
					w.unharmed(t, s)
				})
			}
		}
	}
}

// A statement that waits for the daemon's word on kept columns can be ended in every way.
func TestEndWhileWaitingForKept(t *testing.T) {
	w := theWorld(t)
	change := w.storedTable(t)
	for _, m := range keptMessages {
		for _, way := range ways {
			t.Run(fmt.Sprintf("%s, %s", m.name, way.name), func(t *testing.T) {
				point.Point{What: way.name, Process: oneBackend, Moment: m.name, Shape: overKept, Expect: way.expect()}.Announce(t)
				s := w.proxied(t, waits, serial, always, way.setting)
				query(t, s, theKept)
				change()
				h := w.Proxy.HoldFrame(m.msg, 1)
				done := ask(s, theKept)
				reached(t, h, done)
				pid := s.PID()
				way.act(t, w, s)
				a := soon(t, done)
				if way.state != "" {
					ended(t, a.err, way.state)
				}
				h.Release()
				if a.err == nil || way.state != "57014" {
					goneBackend(t, w, pid)
					s = nil
				}
				w.unharmed(t, s)
			})
		}
	}
}

// Answers on kept columns that contradict themselves: the native plan answers.
func TestHostileKept(t *testing.T) {
	w := theWorld(t)
	change := w.storedTable(t)
	v := newVictim(t, w)
	exec(t, v.Session, always)
	for range 2 {
		query(t, v.Session, theKept)
		change()
	}
	var err error
	if v.held, err = harness.HoldingsOf(v.PID()); err != nil {
		t.Fatal(err)
	}
	body := func(at, n int, value uint64) lie {
		return edit(func(f *harness.Frame) { put(f.Body(), at, n, value) })
	}
	cut := func(n int) lie {
		return edit(func(f *harness.Frame) {
			f.Bytes = f.Bytes[:len(f.Bytes)-n]
			setLength(f, uint32(len(f.Body())))
		})
	}
	more := func(n int) lie {
		return edit(func(f *harness.Frame) {
			f.Bytes = append(f.Bytes, make([]byte, n)...)
			setLength(f, uint32(len(f.Body())))
		})
	}
	bitmap := 16 + shm.GroupBitmap // of gj_blocks.prove
	for _, c := range []struct {
		name string
		msg  int
		lie  lie
	}{
		{"another input", harness.MsgKept, body(0, 4, 1<<31)},
		{"an unknown mode", harness.MsgKept, body(4, 4, 2)},
		{"states without need", harness.MsgKept, body(4, 4, uint64(shm.FeedPlain))},
		{"more blocks", harness.MsgKept, body(12, 4, 1<<32-1)},
		{"more groups", harness.MsgKept, body(16, 4, 2)},
		{"groups without end", harness.MsgKept, body(16, 4, 1<<32-1)},
		{"no groups", harness.MsgKept, body(16, 4, 0)},
		{"an unknown state", harness.MsgKept, body(24, 1, 3)},
		{"a state less", harness.MsgKept, cut(1)},
		{"a state more", harness.MsgKept, more(1)},
		{"a short answer", harness.MsgKept, cut(10)},
		{"blocks of another input", harness.MsgBlocks, body(0, 4, 1<<31)},
		{"another group", harness.MsgBlocks, body(4, 4, 1)},
		{"more LSNs", harness.MsgBlocks, body(8, 4, shm.GroupBlocks+1)},
		{"LSNs without end", harness.MsgBlocks, body(8, 4, 1<<32-1)},
		{"no LSNs", harness.MsgBlocks, body(8, 4, 0)},
		{"an LSN less", harness.MsgBlocks, cut(8)},
		{"an LSN more", harness.MsgBlocks, more(8)},
		{"more blocks to prove than LSNs", harness.MsgBlocks, body(bitmap, 8, 1<<64-1)},
		{"a block to prove behind the end", harness.MsgBlocks, body(bitmap+shm.GroupBitmap-1, 1, 1)},
		{"half a bitmap", harness.MsgBlocks, edit(func(f *harness.Frame) {
			f.Bytes = f.Bytes[:2000]
			setLength(f, uint32(len(f.Body())))
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			change()
			v.suffers(t, c.msg, 1, c.lie, rightRows, theKept)
		})
	}
	w.unharmed(t, v.Session)
}
